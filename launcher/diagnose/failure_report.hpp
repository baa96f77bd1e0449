// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one node says about the workers of a round that did not end well: plain values, and their
// JSON form, which is WorkerFailure::report and travels to every node. Pure.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

// Who ended a worker.
enum class EndedBy {
  itself,     // an exit code or a signal of its own (the kernel's OOM killer included)
  launcher,   // stopped by muster, because another worker failed or the job ends
  peer_lost,  // its own exit code 89: it ended because another rank was gone
};

struct FailedWorker {
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  int exit_code = 0;  // as waitpid tells: 0..255; meaningless if signal is not 0
  int signal = 0;     // the signal that ended it, or 0
  EndedBy ended_by = EndedBy::itself;
  bool out_of_memory = false;     // its cgroup counted an OOM kill
  std::int64_t boot_ns = 0;       // CLOCK_BOOTTIME of its end: orders the workers of one machine
  std::int64_t wall_ns = 0;       // CLOCK_REALTIME of its end: shown to people
  std::string error_file;         // path, or empty if it wrote none
  std::string message;            // from the error file
  std::string traceback;          // from the error file (py_callstack)
  std::int64_t error_time_s = 0;  // from the error file, 0 if it had none
  std::vector<std::string> stderr_tail;  // last lines, whole, without newline
  std::string stdout_log;                // path of its stdout file, or empty
  std::string stderr_log;

  friend bool operator==(FailedWorker const&, FailedWorker const&) = default;
};

struct NodeReport {
  std::string host;
  std::string boot_id;  // /proc/sys/kernel/random/boot_id: boot_ns compares only where it is equal
  int group_rank = 0;
  std::uint64_t round = 0;
  std::uint32_t restart_count = 0;
  std::string program;  // script or command, for the headline
  std::vector<FailedWorker> workers;

  friend bool operator==(NodeReport const&, NodeReport const&) = default;
};

// One line of JSON. Bytes that are no UTF-8 (a worker's stderr) become U+FFFD.
std::string to_json(NodeReport const& report);

// Errors: Errc::protocol for what is no report. Unknown fields are ignored, missing ones keep their
// default: nodes may run different versions.
Result<NodeReport> node_report_from_json(std::string_view text);

// The exit code that stands for this end: the worker's own, or 128 + signal.
int exit_code_of(FailedWorker const& worker);

}  // namespace muster::launch
