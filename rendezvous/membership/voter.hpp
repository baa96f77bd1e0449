// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every agent keeps for the others: the newest record it holds, and what it promised.

#include "rendezvous/membership/message.hpp"

#include <optional>

namespace muster::membership {

struct Voter {
  Generation generation;
  Epoch promised;  // of the last reign that it prepared for, voted for or obeyed; never falls
  Epoch voted;     // the last reign that it gave its one vote to
  std::optional<Record> prepared, committed;
};

}  // namespace muster::membership
