// SPDX-License-Identifier: Apache-2.0
#pragma once
// An agent's side of the rendezvous as a pure machine: it joins, renews its lease, answers as a
// voter, starts workers only on COMMIT, and stops them when told or when it can no longer be sure
// of its host.

#include "rendezvous/membership/member.hpp"
#include "rendezvous/membership/member_effect.hpp"

namespace muster::membership {

std::vector<member::Effect> member_step(MemberState& state, member::Event const& event,
                                        TimePoint now);

// To be called once before the first event: the join deadline starts.
std::vector<member::Effect> member_start(MemberState& state, TimePoint now);

// What stands before this member's messages.
Header header_of(MemberState const& state);

Status status_of(MemberState const& state);

}  // namespace muster::membership
