// SPDX-License-Identifier: Apache-2.0
#pragma once
// musterd's command line.

#include "rendezvous/base/log.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace muster::daemon {

struct Options {
  std::string host = "::";
  std::uint16_t port = 29400;
  log::Level log_level = log::Level::warning;
};

// The program is over before it began: --help, --version, or a usage error (already printed).
struct Exit {
  int code = 0;
};

std::variant<Options, Exit> parse(int argc, char** argv);

}  // namespace muster::daemon
