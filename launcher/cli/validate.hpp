// SPDX-License-Identifier: Apache-2.0
#pragma once
// From option texts to RunOptions: every rule about values and about which go together. Pure.

#include "launcher/cli/options.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

// What the command line and PET_* say. Options that neither names are absent.
struct RawOptions {
  std::map<std::string, std::string, std::less<>> values;
  std::set<std::string, std::less<>> toggles;  // those that are on
  std::string program;
  std::vector<std::string> args;
};

// `fresh_run_id` is used where a job of one node was given no id. Errors: bad_input or unsupported,
// naming the option, what it held and what to do.
Result<RunOptions> validate(RawOptions const& raw, EnvView const& env,
                            std::string_view fresh_run_id);

}  // namespace muster::launch
