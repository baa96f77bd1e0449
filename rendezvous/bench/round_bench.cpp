// SPDX-License-Identifier: Apache-2.0
// round_bench: N agents meet at one musterd over loopback and, two leases later, lose one of them.
// Prints the times, messages and bytes of an agent, and the daemon's memory; --json a line per
// figure.
#include "rendezvous/bench/peers.hpp"
#include "rendezvous/bench/round_agents.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <limits>
#include <malloc.h>
#include <sys/resource.h>

using namespace muster;
using namespace muster::bench;

namespace {

struct Settings {
  bool json = false;
  std::vector<std::uint32_t> sizes{16, 128, 1'024, 4'096, 10'000};
  std::chrono::seconds patience{60};
  std::string musterd;
};

void usage() {
  std::puts(
      "round_bench [--json] [--nodes N,N,...] [--musterd PATH]\n"
      "N agents in this process meet at one musterd, then go on without one of them.");
}

Result<std::vector<std::uint32_t>> parse_sizes(std::string_view text) {
  std::vector<std::uint32_t> sizes;
  std::uint32_t size = 0;
  for (char const c : std::string(text) + ',') {
    if (c >= '0' && c <= '9' && size < 100'000) {
      size = size * 10 + static_cast<std::uint32_t>(c - '0');
    } else if (c == ',' && size >= 2) {
      sizes.push_back(std::exchange(size, 0));
    } else {
      return Error{Errc::bad_input, "--nodes takes numbers from 2 to 100000 and commas", {}};
    }
  }
  return sizes;
}

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  auto const here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  settings.musterd = (here / "musterd").string();
  for (int i = 1; i < argc; ++i) {
    std::string const flag = argv[i];
    if (flag == "--json") {
      settings.json = true;
    } else if (flag == "--nodes" && i + 1 < argc) {
      MUSTER_TRY(settings.sizes, parse_sizes(argv[++i]));
    } else if (flag == "--musterd" && i + 1 < argc) {
      settings.musterd = argv[++i];
    } else {
      return Error{Errc::bad_input, "what is '" + flag + "'?", {}};
    }
  }
  return settings;
}

// Each agent takes a descriptor here and one there.
void raise_descriptor_limit(std::uint32_t most_agents) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  rlim_t const wanted = rlim_t{most_agents} + 1'000;
  rlimit const raised{std::max(limit.rlim_max, wanted), std::max(limit.rlim_max, wanted)};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return;  // where we may
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void show(Settings const& settings, std::uint32_t nodes, char const* name, double value,
          char const* unit) {
  if (settings.json)
    std::printf("{\"name\": \"round/%u/%s\", \"value\": %.6g, \"unit\": \"%s\", \"n\": 1}\n", nodes,
                name, value, unit);
  else
    std::printf("  %-28s %10.4g %s\n", name, value, unit);
  std::fflush(stdout);
}

// Spent on both sides; the time that others of this machine take does not count.
double cpu_seconds(Peer const& daemon) {
  return daemon.cpu_seconds() + static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Result<void> measure(Settings const& settings, std::uint32_t nodes) {
  MUSTER_TRY(auto const daemon, Peer::start_printing("musterd", {settings.musterd, "--host",
                                                                 "127.0.0.1", "--port", "0"}));
  auto const idle = daemon.resident_bytes();
  if (!settings.json) std::printf("%u agents\n", nodes);
  net::asio::io_context io(1);
  RoundAgents agents(io, daemon.port(), nodes);
  auto const before = cpu_seconds(daemon);
  MUSTER_TRY(auto const met, agents.meet(settings.patience));
  auto const cpu_joining = cpu_seconds(daemon) - before;
  auto const joining = agents.traffic();
  auto const memory = daemon.resident_bytes();
  MUSTER_CHECK(agents.rest());
  agents.traffic();
  auto const between = cpu_seconds(daemon);
  MUSTER_TRY(auto const again, agents.lose_one(settings.patience));
  auto const cpu_losing = cpu_seconds(daemon) - between;
  auto const losing = agents.traffic();
  show(settings, nodes, "first_round", met.count(), "s");
  show(settings, nodes, "round_after_a_loss", again.count(), "s");
  show(settings, nodes, "cpu_to_join", cpu_joining / nodes * 1e6, "us/agent");
  show(settings, nodes, "cpu_after_a_loss", cpu_losing / nodes * 1e6, "us/agent");
  show(settings, nodes, "messages_to_join", joining.messages, "/agent");
  show(settings, nodes, "bytes_to_join", joining.bytes, "B/agent");
  show(settings, nodes, "messages_after_a_loss", losing.messages, "/agent");
  show(settings, nodes, "bytes_after_a_loss", losing.bytes, "B/agent");
  show(settings, nodes, "daemon_memory", static_cast<double>(memory) / 1048576, "MiB");
  show(settings, nodes, "daemon_memory_per_agent",
       static_cast<double>(memory - std::min(idle, memory)) / 1024 / nodes, "KiB/agent");
  return ok();
}

int run(int argc, char** argv) {
  auto const settings = parse(argc, argv);
  if (!settings) {
    std::fprintf(stderr, "round_bench: %s\n", to_string(settings.error()).c_str());
    usage();
    return 2;
  }
  raise_descriptor_limit(*std::max_element(settings->sizes.begin(), settings->sizes.end()));
  for (auto const nodes : settings->sizes) {
    auto const done = measure(*settings, nodes);
    if (done) continue;
    std::fprintf(stderr, "round_bench: %u agents: %s\n", nodes, to_string(done.error()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Ten thousand agents share one heap here, which none of them does where it runs alone: its end
  // is not given back to be taken again with every few messages.
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  try {
    return run(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "round_bench: %s\n", error.what());
    return 1;
  }
}
