// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is printed when a job failed: torchrun's block (ChildFailedError), extended by host, signal
// names, the first failing rank's last stderr lines and what they usually mean. Pure, but that
// times are shown in the zone of TZ.

#include "launcher/diagnose/failure_report.hpp"

#include <string>
#include <vector>

namespace muster::launch {

// "rank 5 (local rank 1) on gpu-03 failed first: killed by SIGSEGV (signal 11)", with what follows
// from it; empty without any failure.
std::string cause_line(std::vector<NodeReport> const& reports);

// The whole block, ends with a newline. `reports`: all nodes', as Outcome::reports (parsed). Empty
// without any failure.
std::string failure_summary(std::vector<NodeReport> const& reports);

// The exit code of the cause: the worker's own, or 128 + signal; 1 without any failure.
int cause_exit_code(std::vector<NodeReport> const& reports);

}  // namespace muster::launch
