// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/daemon/options.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace muster::daemon {

namespace {

Exit usage(Error const& error) {
  log::error(to_string(error));
  return Exit{2};
}

void add_security(CLI::App& app, Options& options, net::TlsFiles& tls) {
  app.add_option("--token-file", options.token_file,
                 "file of mode 0600 with the token that agents must know; or MUSTER_TOKEN");
  app.add_option("--tls-cert", tls.certificate, "PEM file with this daemon's certificate");
  app.add_option("--tls-key", tls.key, "PEM file with its private key");
  app.add_option("--tls-ca", tls.authority, "PEM file with the authority of agents' certificates");
  app.add_flag("--open-store", options.open_store,
               "with a token: serve this port's own TCPStore to everybody all the same");
}

// Which options of TLS are given, and which are not.
std::pair<std::string, std::string> sorted_out(net::TlsFiles const& tls) {
  std::pair<std::string, std::string> lists;
  for (auto const& [name, path] : {std::pair{"--tls-cert", &tls.certificate},
                                   {"--tls-key", &tls.key},
                                   {"--tls-ca", &tls.authority}}) {
    auto& list = path->empty() ? lists.second : lists.first;
    list += (list.empty() ? "" : " ") + std::string(name);
  }
  return lists;
}

}  // namespace

std::variant<Options, Exit> parse(int argc, char** argv) {
  Options options;
  net::TlsFiles tls;
  std::string level = "warning";
  CLI::App app{
      "musterd: muster's rendezvous daemon. One TCP port hosts the jobs of muster's agents "
      "(muster run --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT), serves PyTorch's TCPStore "
      "protocol (torchrun with the same options) and HTTP (/healthz, /metrics, /status.json).",
      "musterd"};
  app.add_option("--host", options.host,
                 "address or name to listen on; :: is every address, IPv4 and IPv6")
      ->capture_default_str();
  app.add_option("--port", options.port, "TCP port; 0 lets the system choose")
      ->capture_default_str();
  app.add_option("--log-level", level, "debug, info, warning, error or off")->capture_default_str();
  add_security(app, options, tls);
  app.set_version_flag("--version", "musterd " MUSTER_VERSION);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return Exit{app.exit(error)};  // --help, --version
    bool const is_port = error.get_name() == "ConversionError";    // the only number
    return usage(
        {Errc::bad_input, error.what(),
         is_port ? "a port is a number from 0 to 65535" : "musterd --help lists the options"});
  }
  auto const parsed = log::parse_level(level);
  if (!parsed) return usage(parsed.error());
  options.log_level = *parsed;
  auto const [given, missing] = sorted_out(tls);
  if (!given.empty() && !missing.empty())
    return usage({Errc::bad_input,
                  "TLS needs all of --tls-cert, --tls-key and --tls-ca; missing: " + missing,
                  "both sides show a certificate and check the other's"});
  if (missing.empty()) options.tls = std::move(tls);
  return options;
}

}  // namespace muster::daemon
