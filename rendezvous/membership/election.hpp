// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a candidate's votes come to. The same for an agent that takes over a silent host's job and
// for a daemon that was started again and learns of it from its agents.

#include "rendezvous/membership/host.hpp"

#include <map>
#include <optional>
#include <set>

namespace muster::membership {

using Votes = std::map<Incarnation, VoteReply>;  // by voter, granted or not

// The right to host, and what was learned with it.
struct Mandate {
  Proposed record;  // the highest, to be committed again under the new reign
  std::optional<Record> committed;
  Duration host_age{};  // since any of those who voted last heard the host before
  std::map<Incarnation, Duration> vouched;
  std::set<Incarnation> gone, granted;
};

// Granted by quorums of the highest record's voters, and of those that this record itself needed
// and was perhaps never given; nothing while that is not so. No older record asks for more, though
// it may be the last that these voters know to be committed: who proposed the highest one had
// decided what it builds on. `committed`: what a host knows that asks for a later reign; its voters
// may have promised themselves before they heard of it.
std::optional<Mandate> mandate_of(Votes const& votes,
                                  std::optional<Record> const& committed = std::nullopt);

// Everybody whose vote may count, by all records that the votes so far speak of and by `known`.
Seats seats_to_ask(Votes const& votes, std::optional<Proposed> const& known);

// The highest reign that anybody speaks of.
Epoch highest_promise(Votes const& votes);

// A host that begins with the mandate: it has to commit the record again before it decides more.
struct NewHost {
  std::string run_id, name;
  Incarnation self;
  Epoch epoch;
  std::set<Incarnation> spares = {};  // without a place, and they know of this host, or will soon
};
Host make_successor(NewHost const& who, Mandate const& mandate, TimePoint now,
                    JobSettings const& settings);

}  // namespace muster::membership
