// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/messages.hpp"

#include "launcher/diagnose/exit_words.hpp"
#include "rendezvous/base/ip_address.hpp"

#include <chrono>

namespace muster::launch {
namespace {

std::string counted(int count, std::string const& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ranks(int first, int count) {
  if (count == 1) return "rank " + std::to_string(first);
  return "ranks " + std::to_string(first) + "-" + std::to_string(first + count - 1);
}

std::string ranks_here(AgentSetup const& setup, RoundView const& view) {
  if (view.group_world_size == 1) return {};
  return " (node " + std::to_string(view.group_rank) + " has " +
         ranks(view.rank_base, setup.node.local_world_size) + ")";
}

std::string milliseconds(Duration duration) {
  auto const tenths = std::chrono::duration_cast<std::chrono::microseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

}  // namespace

std::string start_line(AgentSetup const& setup, RoundView const& view,
                       std::string const& run_folder) {
  auto text = "muster: run " + setup.options.run_id + ": " + counted(view.world_size, "worker") +
              " on " + counted(view.group_world_size, "node") + ranks_here(setup, view);
  text += run_folder.empty() ? ", no logs" : ", logs in " + run_folder;
  if (setup.node.interpreter.empty()) return text;
  text += ", " + setup.node.interpreter;
  if (!setup.interpreter_version.empty()) text += " (" + setup.interpreter_version + ")";
  return text;
}

std::optional<std::string> network_line(RoundView const& view) {
  if (view.interface.empty()) return std::nullopt;
  return "muster: network: " + view.network + " by " + view.interface + ", master " +
         endpoint_text(view.master_addr, view.master_port);
}

std::string cause_line(RoundView const& view, int local_rank, int pid, ExitStatus status) {
  auto text = "rank " + std::to_string(view.rank_base + local_rank) + " (local rank " +
              std::to_string(local_rank) + ", pid " + std::to_string(pid) + ") ";
  if (status.signal != 0) return text + "died of " + signal_name(status.signal);
  return text + "exited with code " + std::to_string(status.code);
}

std::string restart_line(AgentSetup const& setup, RoundView const& view, std::string const& cause,
                         Duration since_cause) {
  auto text = "muster: " + (cause.empty() ? "the round ended" : cause) + "; ";
  if (view.repeat > 0)
    text += counted(view.group_world_size, "node") +
            (view.group_world_size == 1 ? " goes on" : " go on");
  else
    text += "restart " + std::to_string(view.restart_count) + " of " +
            std::to_string(setup.options.max_restarts);
  text += " with " + counted(view.world_size, "worker") + ranks_here(setup, view);
  if (since_cause > Duration::zero()) text += " after " + milliseconds(since_cause);
  return text;
}

}  // namespace muster::launch
