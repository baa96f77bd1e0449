// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/exit_words.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace muster::launch {
namespace {

FailedWorker by_signal(int signal) {
  FailedWorker worker;
  worker.signal = signal;
  return worker;
}

FailedWorker by_code(int code) {
  FailedWorker worker;
  worker.exit_code = code;
  return worker;
}

}  // namespace

TEST_CASE("signals have names, also those that have none", "[diagnose]") {
  CHECK(signal_name(SIGKILL) == "SIGKILL");
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(41) == "signal 41");
}

TEST_CASE("an end is told in words", "[diagnose]") {
  CHECK(exit_words(by_code(3)) == "exit code 3");
  CHECK(exit_words(by_code(89)) == "exit code 89 (a peer was gone)");
  CHECK(exit_words(by_signal(SIGSEGV)) == "killed by SIGSEGV (signal 11)");
  CHECK(exit_words(by_signal(41)) == "killed by signal 41");
  auto worker = by_signal(SIGKILL);
  worker.out_of_memory = true;
  CHECK(exit_words(worker) == "killed by the kernel for lack of memory (SIGKILL)");
  worker = by_signal(SIGTERM);
  worker.ended_by = EndedBy::launcher;
  CHECK(exit_words(worker) == "stopped by muster with SIGTERM");
}

TEST_CASE("advice is given where the end has a usual cause", "[diagnose]") {
  CHECK(exit_advice(by_signal(SIGKILL)).find("lack of memory") != std::string::npos);
  CHECK(exit_advice(by_signal(SIGBUS)).find("/dev/shm") != std::string::npos);
  CHECK(exit_advice(by_code(137)) == "128 + 9: a child of it was killed by SIGKILL");
  CHECK(exit_advice(by_code(127)) == "a command was not found");
  CHECK(exit_advice(by_code(1)).empty());
  CHECK(exit_advice(by_code(255)).empty());
  auto lacking = by_code(1);
  lacking.stderr_tail = {"ModuleNotFoundError: No module named 'torch'"};
  CHECK(exit_advice(lacking).find("PYTHON_EXEC") != std::string::npos);
  auto worker = by_signal(SIGKILL);
  worker.ended_by = EndedBy::launcher;
  CHECK(exit_advice(worker).empty());
}

}  // namespace muster::launch
