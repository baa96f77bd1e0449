// SPDX-License-Identifier: Apache-2.0
#pragma once
// A real guardian with an agent that is a function of the test, both processes of their own.

#include "launcher/process/guardian.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::test {

// The agent ends with what `agent` returns. Returns the guardian's pid.
inline pid_t start_pair(std::function<int(launch::AgentSeat)> const& agent) {
  auto const guardian = ::fork();
  REQUIRE(guardian >= 0);
  if (guardian > 0) return guardian;
  launch::AgentSeat seat;
  auto const inherited = launch::take_over_start_state();
  if (auto const code = launch::split_into_guardian_and_agent(inherited, seat)) ::_exit(*code);
  ::_exit(agent(seat));
}

// In the agent: a process in a session of its own, and its child, both of which wait for ever.
// Their ids, once both are there.
inline std::array<pid_t, 2> start_family() {
  std::array<int, 2> ready{};
  std::array<pid_t, 2> family{};
  if (::pipe(ready.data()) != 0) return family;
  family[0] = ::fork();
  if (family[0] == 0) {
    ::setsid();
    auto const child = ::fork();
    if (child > 0 && ::write(ready[1], &child, sizeof child) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  if (::read(ready[0], &family[1], sizeof(pid_t)) != sizeof(pid_t)) family[1] = 0;
  ::close(ready[0]);
  ::close(ready[1]);
  return family;
}

// The guardian's exit code, when it has ended.
inline int code_of(pid_t guardian) {
  int status = 0;
  REQUIRE(::waitpid(guardian, &status, 0) == guardian);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace muster::test
