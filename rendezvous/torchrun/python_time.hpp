// SPDX-License-Identifier: Apache-2.0
#pragma once
// datetime.datetime as a pickle has it: ten bytes and, where it is aware, a zone.

#include "rendezvous/torchrun/round_state.hpp"

namespace muster::torchrun {

// Nothing where the value is no datetime, or one that does not exist.
std::optional<PythonTime> time_from(pickle::Value const& value);
// Within the years 1 to 9999, which is what Python has.
pickle::Value to_value(PythonTime time);

}  // namespace muster::torchrun
