// SPDX-License-Identifier: Apache-2.0
// The muster command: `muster run ...` and, under the name torchrun, `torchrun ...`; `muster X`
// executes the program muster-X. Splits into guardian and agent before anything else is set up.
#include "launcher/agent/run.hpp"
#include "launcher/process/guardian.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

using namespace muster::launch;

constexpr char kUsage[] =
    "usage: muster COMMAND [ARGUMENT ...]\n"
    "\n"
    "  run        start a script on all workers of this node (all options of torchrun; run "
    "--help)\n"
    "  simulate   play a job's rendezvous under virtual time, with faults (simulate --help)\n"
    "  COMMAND    anything else runs the program muster-COMMAND, where there is one\n"
    "\n"
    "  --version  print the version\n"
    "  --help     print this\n"
    "\n"
    "The rendezvous daemon is a program of its own, musterd; a job of a few nodes needs none.\n"
    "Called by the name torchrun, it behaves as muster run.\n";

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

int run(std::string program, int argc, char** argv, int skip) {
  Invocation invocation;
  invocation.inherited = take_over_start_state();
  if (auto const code = split_into_guardian_and_agent(invocation.inherited, invocation.seat))
    return *code;
  invocation.program = std::move(program);
  invocation.called_as = argv[0];
  invocation.args.assign(argv + skip, argv + argc);
  return run_agent(std::move(invocation));
}

// Beside our own program first, then in PATH.
int execute_other(std::string const& command, char** argv) {
  auto const name = "muster-" + command;
  std::string self(4096, '\0');
  auto const length = ::readlink("/proc/self/exe", self.data(), self.size());
  self.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  auto const beside = self.substr(0, self.rfind('/') + 1) + name;
  ::execv(beside.c_str(), argv);
  ::execvp(name.c_str(), argv);
  if (errno == ENOENT) {
    std::fprintf(stderr, "muster: '%s' is no command, and there is no program %s (see --help)\n",
                 command.c_str(), name.c_str());
    return 2;
  }
  std::fprintf(stderr, "muster: cannot run %s: %s\n", name.c_str(), std::strerror(errno));
  return 126;
}

int dispatch(int argc, char** argv) {
  if (argc < 1) return 2;
  if (base_name(argv[0]) == "torchrun") return run("torchrun", argc, argv, 1);
  std::string_view const command = argc > 1 ? argv[1] : "";
  if (command == "run") return run("muster run", argc, argv, 2);
  if (command == "--version") {
    std::puts("muster " MUSTER_VERSION);
    return 0;
  }
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (command.empty() || command.front() == '-') {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return execute_other(std::string(command), argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "muster: internal error: %s\n", failure.what());
    return 95;
  }
}
