// SPDX-License-Identifier: Apache-2.0
// Counting votes.

#include "rendezvous/membership/election.hpp"

#include "rendezvous/membership/quorum.hpp"

#include <algorithm>

namespace muster::membership {
namespace {

void add_seats(Seats& seats, Seats const& more) {
  for (auto const& seat : more)
    if (std::none_of(seats.begin(), seats.end(),
                     [&](Seat const& known) { return known.node == seat.node; }))
      seats.push_back(seat);
}

// Of what the granting voters hold; what others hold binds nobody.
void collect(Mandate& mandate, VoteReply const& reply) {
  if (reply.highest && (mandate.record.record.voters.empty() ||
                        is_newer(reply.highest->record, mandate.record.record)))
    mandate.record = *reply.highest;
  if (reply.committed && (!mandate.committed || is_newer(*reply.committed, *mandate.committed)))
    mandate.committed = reply.committed;
  mandate.host_age = std::min(mandate.host_age, Duration{reply.host_age_ns});
  mandate.gone.insert(reply.gone.begin(), reply.gone.end());
  for (auto const& vouch : reply.vouches) {
    auto const [entry, is_new] = mandate.vouched.emplace(vouch.node, Duration{vouch.age_ns});
    if (!is_new) entry->second = std::min(entry->second, Duration{vouch.age_ns});
  }
}

}  // namespace

std::optional<Mandate> mandate_of(Votes const& votes, std::optional<Record> const& committed) {
  Mandate mandate;
  mandate.host_age = Duration::max();
  mandate.committed = committed;
  if (committed) mandate.record.record = *committed;
  for (auto const& [voter, reply] : votes) {
    if (!reply.granted) continue;
    mandate.granted.insert(voter);
    collect(mandate, reply);
  }
  auto& proposed = mandate.record;
  if (proposed.record.voters.empty()) return std::nullopt;
  if (mandate.committed == proposed.record) proposed.bases.clear();
  auto const agreed = [&](Electorate const& base) {
    return has_quorum(base, mandate.granted, mandate.gone);
  };
  if (!agreed(electorate_of(proposed.record))) return std::nullopt;
  if (!std::all_of(proposed.bases.begin(), proposed.bases.end(), agreed)) return std::nullopt;
  return mandate;
}

Seats seats_to_ask(Votes const& votes, std::optional<Proposed> const& known) {
  Seats seats;
  auto const add = [&seats](Proposed const& proposed) {
    add_seats(seats, proposed.record.voters);
    for (auto const& base : proposed.bases) add_seats(seats, base.voters);
  };
  if (known) add(*known);
  for (auto const& [voter, reply] : votes) {
    if (reply.highest) add(*reply.highest);
    if (reply.committed) add_seats(seats, reply.committed->voters);
  }
  return seats;
}

Epoch highest_promise(Votes const& votes) {
  Epoch highest;
  for (auto const& [voter, reply] : votes) highest = std::max(highest, reply.promised);
  return highest;
}

}  // namespace muster::membership
