// SPDX-License-Identifier: Apache-2.0
#pragma once
// A deliberate fault, put between a core and the world: it falsifies what the core is told, what it
// holds or what it asks for. The checker of invariants is tried with a list of them.

#include "rendezvous/membership/host_step.hpp"
#include "rendezvous/membership/member_step.hpp"

namespace muster::sim {

struct Twist {
  virtual ~Twist() = default;
  virtual void before_member(membership::MemberState&, membership::member::Event&) const {}
  virtual void after_member(membership::MemberState const& /*before*/, membership::MemberState&,
                            std::vector<membership::member::Effect>&) const {}
  virtual void before_host(membership::Host&, membership::HostEvent&, TimePoint /*now*/) const {}
  virtual void after_host(membership::Host const& /*before*/, membership::Host&,
                          membership::HostStep&) const {}
};

}  // namespace muster::sim
