// SPDX-License-Identifier: Apache-2.0
#pragma once
// The voter's three answers, one function each. Pure: the caller sends what is returned.

#include "rendezvous/membership/voter.hpp"

namespace muster::membership {

// PREPARE: kept, unless it comes from an older reign or is older than what is held.
std::variant<Prepared, Deposed> answer_prepare(Voter& voter, Prepare const& prepare);

// COMMIT: true if it is news and no older reign's.
bool accept_commit(Voter& voter, Record const& record);

// A candidate asks for its reign: one vote a reign, and never for one older than a promise.
VoteReply answer_vote(Voter& voter, VoteRequest const& request);

}  // namespace muster::membership
