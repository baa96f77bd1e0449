// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/exit_words.hpp"

#include "rendezvous/base/env_contract.hpp"

#include <csignal>
#include <cstring>

namespace muster::launch {
namespace {

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

std::string advice_for_signal(FailedWorker const& worker) {
  if (worker.out_of_memory)
    return "the node's or container's memory was used up: fewer or smaller workers, fewer data "
           "loaders, or a higher limit";
  switch (worker.signal) {
    case SIGKILL:
      return "somebody killed it; if nobody did, the kernel did for lack of memory (see dmesg)";
    case SIGBUS:
      return "often a full /dev/shm (see df /dev/shm; containers need a larger one) or a file that "
             "shrank while it was mapped";
    case SIGSEGV:
      return "a crash in native code; `python -X faulthandler` shows where";
    case SIGILL:
      return "an instruction that this processor lacks: a library built for another machine";
    case SIGABRT:
      return "it gave up by itself: a failed assertion, or a watchdog of its library; see its "
             "stderr";
    case SIGXCPU:
      return "its CPU time limit is used up (ulimit -t)";
    case SIGXFSZ:
      return "its file size limit is reached (ulimit -f)";
    default:
      return {};
  }
}

// A script that lacks its library has most often met another Python than its user meant.
bool lacks_a_module(FailedWorker const& worker) {
  auto const& tail = worker.stderr_tail;
  return worker.message.rfind("ModuleNotFoundError", 0) == 0 ||
         (!tail.empty() && tail.back().find("ModuleNotFoundError: No module named") == 0);
}

}  // namespace

std::string signal_name(int signal) {
  auto const* const name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

std::string exit_words(FailedWorker const& worker) {
  if (worker.signal != 0) {
    auto const name = signal_name(worker.signal);
    if (worker.ended_by == EndedBy::launcher) return "stopped by muster with " + name;
    if (worker.out_of_memory) return "killed by the kernel for lack of memory (" + name + ")";
    bool const named = name.compare(0, 3, "SIG") == 0;
    return "killed by " + name + (named ? " (signal " + std::to_string(worker.signal) + ")" : "");
  }
  auto words = "exit code " + std::to_string(worker.exit_code);
  if (worker.ended_by == EndedBy::launcher) return "stopped by muster, " + words;
  if (worker.exit_code == env::kExitPeerLost) words += " (a peer was gone)";
  return words;
}

std::string exit_advice(FailedWorker const& worker) {
  if (worker.ended_by != EndedBy::itself) return {};
  if (worker.signal != 0) return advice_for_signal(worker);
  if (worker.exit_code == kNotFound) return "a command was not found";
  if (worker.exit_code == kCannotRun) return "a command was found but could not be executed";
  // A shell between muster and the program reports its child's signal this way.
  if (worker.exit_code > 128 && worker.exit_code <= 128 + SIGSYS)
    return "128 + " + std::to_string(worker.exit_code - 128) + ": a child of it was killed by " +
           signal_name(worker.exit_code - 128);
  if (lacks_a_module(worker))
    return "muster's first line names the Python that ran it; for another one activate its "
           "environment, or set PYTHON_EXEC";
  return {};
}

}  // namespace muster::launch
