// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a pickle of protocol 4, which every Python since 3.4 reads. Each class, name of an
// attribute and description of a node is written once and remembered, as Python does it: without,
// a state would be twice as long as torchrun's own.

#include "rendezvous/torchrun/pickle_value.hpp"

namespace muster::torchrun::pickle {

std::string write(Value const& value);

}  // namespace muster::torchrun::pickle
