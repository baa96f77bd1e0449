// SPDX-License-Identifier: Apache-2.0
// store_bench: musterd beside PyTorch's TCPStore server and redis-server, driven by one and the
// same client, in one run. Prints requests per second and ratios; --json a line per figure.
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/bench/cases.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

using namespace muster;
using namespace muster::bench;

namespace {

struct Settings {
  bool json = false, quick = false, peers = true;
  std::string only;  // a case's name
  std::chrono::milliseconds length{400};
  int rounds = 3;
  std::string musterd, python;
};

constexpr std::size_t kIdleConnections = 10'000;

void usage() {
  std::puts(
      "store_bench [--json] [--quick] [--no-peers] [--case NAME] [--ms N] [--rounds N] [--musterd "
      "PATH]\n"
      "            [--python PATH]\n"
      "Compares musterd with PyTorch's TCPStore (a python that has torch) and redis-server.");
}

std::string default_python(EnvView const& env) {
  auto const cache = env.get("XDG_CACHE_HOME");
  auto const home = std::string(env.get("HOME").value_or("/root"));
  auto const root = cache && !cache->empty() ? std::string(*cache) : home + "/.cache";
  return root + "/muster/torch/bin/python";
}

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  auto const here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  settings.musterd = (here / "musterd").string();
  settings.python = default_python(EnvView::from_process());
  for (int i = 1; i < argc; ++i) {
    std::string const flag = argv[i];
    if (flag == "--json")
      settings.json = true;
    else if (flag == "--quick")
      settings.quick = true;
    else if (flag == "--no-peers")
      settings.peers = false;
    else if (i + 1 == argc)
      return Error{Errc::bad_input, "what is '" + flag + "'?", {}};
    else if (flag == "--case")
      settings.only = argv[++i];
    else if (flag == "--musterd")
      settings.musterd = argv[++i];
    else if (flag == "--python")
      settings.python = argv[++i];
    else if (flag == "--ms")
      settings.length = std::chrono::milliseconds(std::atoi(argv[++i]));
    else if (flag == "--rounds")
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    else
      return Error{Errc::bad_input, "what is '" + flag + "'?", {}};
  }
  return settings;
}

Result<std::vector<Peer>> start_peers(Settings const& settings) {
  std::vector<Peer> peers;
  MUSTER_TRY(auto muster_peer, start_musterd(settings.musterd));
  peers.push_back(std::move(muster_peer));
  if (!settings.peers) return peers;
  for (auto* start : {+[](Settings const& s) { return start_tcpstore(s.python); },
                      +[](Settings const&) { return Peer::start_redis(); }}) {
    auto peer = start(settings);
    if (peer)
      peers.push_back(*std::move(peer));
    else
      std::fprintf(stderr, "left out: %s\n", to_string(peer.error()).c_str());
  }
  return peers;
}

using Figures = std::map<std::string, Rate>;  // by peer

Result<Rate> measure(Peer const& peer, Case const& what, Load const& load) {
  if (what.script == nullptr) return run_wait_wake(peer, load);
  return run_load(peer, load, [&](std::size_t i) { return *what.script(peer.dialect(), i); });
}

// The peers take turns, so that a busy moment of the machine meets all; the median counts.
Result<Figures> compare(std::vector<Peer> const& peers, Case const& what, Load const& load,
                        int rounds) {
  std::map<std::string, std::vector<Rate>> samples;
  for (int round = 0; round < rounds; ++round)
    for (auto const& peer : peers) {
      bool const can = what.script == nullptr ? peer.dialect() == Dialect::tcpstore
                                              : what.script(peer.dialect(), 0).has_value();
      if (!can) continue;
      MUSTER_TRY(auto const rate, measure(peer, what, load));
      samples[peer.name()].push_back(rate);
    }
  Figures figures;
  for (auto& [name, values] : samples) {
    std::sort(values.begin(), values.end(),
              [](Rate const& a, Rate const& b) { return a.per_second < b.per_second; });
    figures[name] = values[values.size() / 2];
  }
  return figures;
}

void print(Settings const& settings, Case const& what, Load const& load, Figures const& figures) {
  auto const ours = figures.at("muster").per_second;
  if (settings.json) {
    for (auto const& [peer, rate] : figures)
      std::printf(
          "{\"bench\":\"store\",\"case\":\"%.*s\",\"connections\":%zu,\"depth\":%zu,"
          "\"peer\":\"%s\",\"per_second\":%.0f,\"server_us\":%.2f,\"muster_ratio\":%.3f}\n",
          int(what.name.size()), what.name.data(), load.connections, load.depth, peer.c_str(),
          rate.per_second, rate.server_us, ours / rate.per_second);
    std::fflush(stdout);
    return;
  }
  std::printf("%-12.*s %5zu %5zu %10.0f %6.2f", int(what.name.size()), what.name.data(),
              load.connections, load.depth, ours, figures.at("muster").server_us);
  for (auto const* peer : {"tcpstore", "redis"}) {
    auto const found = figures.find(peer);
    if (found == figures.end()) {
      std::printf(" %10s %6s %7s", "-", "-", "-");
      continue;
    }
    auto const& [rate, cpu] = found->second;
    std::printf(" %10.0f %6.2f %6.2fx", rate, cpu, ours / rate);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Connections that have greeted and wait, at a server of its own; its resident size.
Result<void> run_idle(Settings const& settings) {
  MUSTER_TRY(auto const peer, start_musterd(settings.musterd));
  std::string hello;
  wire::encode(wire::Validate{}, hello);
  wire::encode(wire::Ping{}, hello);
  std::vector<UniqueFd> connections;
  for (std::size_t i = 0; i < kIdleConnections; ++i) {
    MUSTER_TRY(auto socket, connect_loopback(peer.port()));
    MUSTER_CHECK(send_all(socket.get(), hello));
    MUSTER_TRY(auto const pong, receive(socket.get(), 4));
    connections.push_back(std::move(socket));
  }
  auto const mib = static_cast<double>(peer.resident_bytes()) / (1 << 20);
  if (settings.json)
    std::printf(
        "{\"bench\":\"store\",\"case\":\"idle\",\"connections\":%zu,\"resident_mib\":%.1f}\n",
        kIdleConnections, mib);
  else
    std::printf("%zu idle connections: %.1f MiB resident\n", kIdleConnections, mib);
  return ok();
}

Result<void> run(Settings const& settings) {
  raise_descriptor_limit();
  MUSTER_TRY(auto const peers, start_peers(settings));
  if (!settings.json)
    std::printf("%-12s %5s %5s %10s %6s %10s %6s %7s %10s %6s %7s\n", "case", "conns", "depth",
                "muster/s", "us CPU", "tcpstore/s", "us CPU", "ratio", "redis/s", "us CPU",
                "ratio");
  std::vector<std::size_t> const few{1, 64}, many{1, 8, 64, 1'000};
  for (auto const& what : cases()) {
    if (!settings.only.empty() && what.name != settings.only) continue;
    for (auto const connections : settings.quick ? few : many)
      for (auto const depth : {std::size_t{1}, std::size_t{16}}) {
        if (what.script == nullptr && depth > 1) continue;
        Load const load{connections, depth, settings.length};
        MUSTER_TRY(auto const figures, compare(peers, what, load, settings.rounds));
        print(settings, what, load, figures);
      }
  }
  return settings.only.empty() || settings.only == "idle" ? run_idle(settings) : ok();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto const settings = parse(argc, argv);
    if (!settings) {
      std::fprintf(stderr, "store_bench: %s\n", to_string(settings.error()).c_str());
      usage();
      return 2;
    }
    auto const done = run(*settings);
    if (done) return 0;
    std::fprintf(stderr, "store_bench: %s\n", to_string(done.error()).c_str());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
  }
  return 1;
}
