// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the digits are that the project carries: beside the build folder that this program runs
// from, else in the tree that it was built from. Looks at the disk.

#include "rendezvous/base/result.hpp"

#include <string>

namespace muster::worker {

// `given` itself where it names a folder; an error that names what was looked for.
Result<std::string> find_digits(std::string const& given);

}  // namespace muster::worker
