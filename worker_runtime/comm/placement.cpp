// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/placement.hpp"

#include "rendezvous/base/env_contract.hpp"

namespace muster::worker {
namespace {

constexpr std::string_view kEnvScheme = "env://";
constexpr std::string_view kTcpScheme = "tcp://";
constexpr long long kMaxWorld = 1'000'000;

Result<int> bounded(long long value, long long low, long long high, std::string const& name) {
  if (value >= low && value <= high) return static_cast<int>(value);
  return Error{Errc::bad_input,
               name + " is " + std::to_string(value) + ", expected " + std::to_string(low) +
                   " to " + std::to_string(high),
               {}};
}

Result<void> set_rank(Placement& placement, long long rank, long long size,
                      std::string const& rank_name, std::string const& size_name) {
  MUSTER_TRY(placement.size, bounded(size, 1, kMaxWorld, size_name));
  if (rank < 0 || rank >= size)
    return Error{Errc::bad_input,
                 rank_name + " " + std::to_string(rank) + " is outside a world of " +
                     std::to_string(size) + " (" + size_name + ")",
                 {}};
  placement.rank = static_cast<int>(rank);
  return ok();
}

// Other launchers name ranks their own way: training N separate worlds of one would be a silent
// error.
Result<void> refuse_foreign_world(EnvView const& environment) {
  for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    auto const value = environment.get(name);
    if (value && parse_int(*value).value_or(1) > 1)
      return Error{Errc::bad_input,
                   std::string(name) + "=" + std::string(*value) +
                       " says that there are more ranks, but RANK and WORLD_SIZE are not set",
                   "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or use "
                   "tcp://host:port?rank=R&world_size=N"};
  }
  return ok();
}

Result<Placement> from_environment(EnvView const& environment) {
  Placement placement;
  if (!environment.get(env::kRank) && !environment.get(env::kWorldSize)) {
    MUSTER_CHECK(refuse_foreign_world(environment));
    placement.local_rank = 0;
    return placement;
  }
  MUSTER_TRY(auto const rank, environment.need_int(env::kRank));
  MUSTER_TRY(auto const size, environment.need_int(env::kWorldSize));
  MUSTER_CHECK(set_rank(placement, rank, size, env::kRank, env::kWorldSize));
  if (environment.get(env::kLocalRank)) {
    MUSTER_TRY(auto const local, environment.need_int(env::kLocalRank));
    MUSTER_TRY(placement.local_rank, bounded(local, 0, size - 1, env::kLocalRank));
  }
  if (placement.size == 1) return placement;
  MUSTER_TRY(placement.host, environment.need(env::kMasterAddr));
  MUSTER_TRY(auto const port, environment.need_int(env::kMasterPort));
  MUSTER_TRY(auto const checked, bounded(port, 1, 65'535, env::kMasterPort));
  placement.port = static_cast<std::uint16_t>(checked);
  placement.agent_store = environment.get(env::kUseAgentStore) == "True";
  return placement;
}

Error bad_url(std::string_view url, std::string const& seen) {
  return Error{Errc::bad_input, "'" + std::string(url) + "': " + seen,
               "write env:// or tcp://host:port?rank=R&world_size=N"};
}

// The number behind `name=` in a query, which holds nothing else but use_libuv (torch's).
Result<long long> query_number(std::string_view url, std::string_view query,
                               std::string_view name) {
  while (!query.empty()) {
    auto const end = std::min(query.find('&'), query.size());
    auto const item = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    auto const equals = item.find('=');
    if (equals == std::string_view::npos || item.substr(0, equals) != name) continue;
    if (auto const number = parse_int(item.substr(equals + 1))) return *number;
    return bad_url(url, std::string(item) + " is no number");
  }
  return bad_url(url, std::string(name) + "= is missing");
}

Result<Placement> from_url(std::string_view url) {
  Placement placement;
  auto rest = url.substr(kTcpScheme.size());
  auto const question = rest.find('?');
  if (question == std::string_view::npos) return bad_url(url, "rank= and world_size= are missing");
  auto const query = rest.substr(question + 1);
  auto const endpoint = rest.substr(0, question);
  auto const colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad_url(url, "host:port is missing");
  auto host = endpoint.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  placement.host = std::string(host);
  auto const port = parse_int(endpoint.substr(colon + 1));
  if (!port || *port < 1 || *port > 65'535)
    return bad_url(url, "the port is not a number from 1 to 65535");
  placement.port = static_cast<std::uint16_t>(*port);
  MUSTER_TRY(auto const rank, query_number(url, query, "rank"));
  MUSTER_TRY(auto const size, query_number(url, query, "world_size"));
  MUSTER_CHECK(set_rank(placement, rank, size, "rank", "world_size"));
  return placement;
}

}  // namespace

Result<Placement> read_placement(EnvView const& environment, std::string_view url) {
  Placement placement;
  if (url == kEnvScheme) {
    MUSTER_TRY(placement, from_environment(environment));
  } else if (url.starts_with(kTcpScheme)) {
    MUSTER_TRY(placement, from_url(url));
  } else {
    return bad_url(url, "the scheme is unknown");
  }
  if (environment.get(env::kRestartCount)) {
    MUSTER_TRY(auto const count, environment.need_int(env::kRestartCount));
    MUSTER_TRY(placement.restart_count, bounded(count, 0, 1'000'000'000, env::kRestartCount));
  }
  if (environment.get(env::kMusterRound)) {
    MUSTER_TRY(auto const round, environment.need_int(env::kMusterRound));
    MUSTER_TRY(auto const checked, bounded(round, 0, 1'000'000'000, env::kMusterRound));
    placement.round = static_cast<std::uint64_t>(checked);
  }
  return placement;
}

}  // namespace muster::worker
