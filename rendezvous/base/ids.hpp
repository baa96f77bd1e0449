// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that must not be mixed up, as distinct types.

#include <compare>
#include <cstdint>

namespace muster {

// A strong integer: Id<struct ATag> and Id<struct BTag> do not convert into each other.
template <class Tag, class Rep = std::uint64_t>
struct Id {
  Rep value{};

  constexpr auto operator<=>(Id const&) const = default;
  constexpr Id next() const { return Id{static_cast<Rep>(value + 1)}; }
};

using ClientId =
    Id<struct ClientTag>;  // a connection to a store; never used twice in a server's life
using Generation =
    Id<struct GenerationTag>;             // a job that reuses a finished run id gets the next one
using Epoch = Id<struct EpochTag>;        // a reign of one rendezvous host
using RoundNumber = Id<struct RoundTag>;  // a world; numbers never repeat, also not across epochs
using Incarnation = Id<struct IncarnationTag>;  // one life of an agent: random, new at each start

}  // namespace muster
