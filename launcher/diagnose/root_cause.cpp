// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/root_cause.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

namespace muster::launch {
namespace {

// What gloo, NCCL and sockets say to those whose peer died. Nobody who fails for a reason of his
// own says this, but for a broken network, where all say it and the order decides again.
constexpr std::array<std::string_view, 6> kLostPeerWords = {
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "remote process exited or there was a network error",
    "ncclRemoteError",
    "peer_lost",
};

bool holds_lost_peer_words(std::string_view text) {
  return std::any_of(kLostPeerWords.begin(), kLostPeerWords.end(), [&](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
}

Role role_of(FailedWorker const& worker) {
  switch (worker.ended_by) {
    case EndedBy::launcher:
      return Role::stopped;
    case EndedBy::peer_lost:
      return Role::follower;
    case EndedBy::itself:
      break;
  }
  // A signal is an end of its own, whatever was written before.
  return worker.signal == 0 && speaks_of_lost_peer(worker) ? Role::follower : Role::own;
}

// Reports of one machine form a group, placed where its first report is: within it clocks compare.
std::vector<std::size_t> machine_of(std::vector<NodeReport> const& reports) {
  std::map<std::string_view, std::size_t> first;
  std::vector<std::size_t> machine;
  for (std::size_t i = 0; i < reports.size(); ++i)
    machine.push_back(
        reports[i].boot_id.empty() ? i : first.emplace(reports[i].boot_id, i).first->second);
  return machine;
}

}  // namespace

std::vector<RankedFailure> order_by_cause(std::vector<NodeReport> const& reports) {
  auto const machine = machine_of(reports);
  std::map<NodeReport const*, std::size_t> machine_by_node;
  std::vector<RankedFailure> all;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    machine_by_node[&reports[i]] = machine[i];
    for (auto const& worker : reports[i].workers)
      all.push_back({&reports[i], &worker, role_of(worker)});
  }
  auto const key = [&](RankedFailure const& failure) {
    return std::tuple(failure.role, machine_by_node.at(failure.node), failure.worker->boot_ns,
                      failure.worker->rank);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](RankedFailure const& a, RankedFailure const& b) { return key(a) < key(b); });
  return all;
}

bool speaks_of_lost_peer(FailedWorker const& worker) {
  if (holds_lost_peer_words(worker.message) || holds_lost_peer_words(worker.traceback)) return true;
  return std::any_of(worker.stderr_tail.begin(), worker.stderr_tail.end(), holds_lost_peer_words);
}

}  // namespace muster::launch
