// SPDX-License-Identifier: Apache-2.0
#pragma once
// The voter's answers, one function each. Pure: the caller sends what is returned.

#include "rendezvous/membership/voter.hpp"

namespace muster::membership {

// PREPARE: kept, unless it comes from an older reign or is older than what is held.
std::variant<Prepared, HostIs> answer_prepare(Voter& voter, Prepare const& prepare, TimePoint now);

// COMMIT: true if it is news and no older reign's.
bool accept_commit(Voter& voter, Record const& record);

// A candidate asks for its reign: one vote a reign, and never for one older than a promise; nor
// while the host is there.
VoteReply answer_vote(Voter& voter, VoteRequest const& request, HostSilence const& host,
                      TimePoint now);

// A node that misses the host asks whether it is forgotten. Granted only while this voter misses
// the host too and serves the same reign: a host that could evict the asker needs this voter's
// PREPARED, and the voucher comes with it. Hence never to a node that does not hold the newest
// record that this voter has prepared: of that one the host may have the PREPARED already.
Answer answer_ask(Voter& voter, Header const& asker, Ask const& ask, HostSilence const& host,
                  TimePoint now);

// What this voter vouches for, with ages; forgets what is older than `limit`.
std::vector<Vouch> vouches(Voter& voter, TimePoint now, Duration limit);

}  // namespace muster::membership
