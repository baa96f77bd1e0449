// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a worker ended, in words, and what that usually means. Pure.

#include "launcher/diagnose/failure_report.hpp"

#include <string>

namespace muster::launch {

// "SIGSEGV"; "signal 41" for one without a name.
std::string signal_name(int signal);

// "exit code 3", "killed by SIGSEGV (signal 11)", "killed by the kernel for lack of memory
// (SIGKILL)".
std::string exit_words(FailedWorker const& worker);

// What to look at next for this kind of end; empty where nothing is worth saying.
std::string exit_advice(FailedWorker const& worker);

}  // namespace muster::launch
