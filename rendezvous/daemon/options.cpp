// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/daemon/options.hpp"

#include <CLI/CLI.hpp>

namespace muster::daemon {

std::variant<Options, Exit> parse(int argc, char** argv) {
  Options options;
  std::string level = "warning";
  CLI::App app{
      "musterd: muster's rendezvous daemon. One TCP port serves PyTorch's TCPStore protocol "
      "(torchrun --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT) and HTTP "
      "(/healthz, /metrics, /status.json).",
      "musterd"};
  app.add_option("--host", options.host,
                 "address or name to listen on; :: is every address, IPv4 and IPv6")
      ->capture_default_str();
  app.add_option("--port", options.port, "TCP port; 0 lets the system choose")
      ->capture_default_str();
  app.add_option("--log-level", level, "debug, info, warning, error or off")->capture_default_str();
  app.set_version_flag("--version", "musterd " MUSTER_VERSION);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return Exit{app.exit(error)};  // --help, --version
    bool const is_port = error.get_name() == "ConversionError";    // the only number
    log::error(to_string(Error{
        Errc::bad_input, error.what(),
        is_port ? "a port is a number from 0 to 65535" : "musterd --help lists the options"}));
    return Exit{2};
  }
  auto const parsed = log::parse_level(level);
  if (!parsed) {
    log::error(to_string(parsed.error()));
    return Exit{2};
  }
  options.log_level = *parsed;
  return options;
}

}  // namespace muster::daemon
