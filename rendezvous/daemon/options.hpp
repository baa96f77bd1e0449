// SPDX-License-Identifier: Apache-2.0
#pragma once
// musterd's command line.

#include "rendezvous/base/log.hpp"
#include "rendezvous/net/security.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace muster::daemon {

struct Options {
  std::string host = "::";
  std::uint16_t port = 29400;
  log::Level log_level = log::Level::warning;
  std::optional<std::string> token_file;
  std::optional<net::TlsFiles> tls;
  bool open_store = false;  // also where there is a token
};

// The program is over before it began: --help, --version, or a usage error (already printed).
struct Exit {
  int code = 0;
};

std::variant<Options, Exit> parse(int argc, char** argv);

}  // namespace muster::daemon
