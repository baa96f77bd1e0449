// SPDX-License-Identifier: Apache-2.0
// A real guardian and an agent that falls silent: who is ended, who is not, and who hears of it.

#include "launcher/process/guardian.hpp"

#include "launcher/process/guardian_line.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "tests/support/guardian_pair.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

constexpr int kDeadlineMs = 20'000;

// The agent and its workers, as the agent tells the test.
struct Family {
  pid_t agent = 0;
  std::array<pid_t, 2> workers{};
};

bool is_alive(pid_t pid) {
  UniqueFd const handle{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  pollfd ended{handle.get(), POLLIN, 0};
  return handle && ::poll(&ended, 1, 0) == 0;
}

// Waits until it is dead, reaped or not.
void await_end(pid_t pid) {
  UniqueFd const handle{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  pollfd ended{handle.get(), POLLIN, 0};
  if (handle) REQUIRE(::poll(&ended, 1, kDeadlineMs) == 1);
}

}  // namespace

TEST_CASE("a silent agent loses its workers, lives, and hears why when it goes on", "[guardian]") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto const guardian = test::start_pair([&](AgentSeat seat) {
    net::asio::io_context io{1};
    GuardianLine line(io, seat.channel);
    Family const family{::getpid(), test::start_family()};
    if (::write(pipe->write_end.get(), &family, sizeof family) != sizeof family) return 1;
    line.alive(100ms);
    ::raise(SIGSTOP);
    GuardianLine::Callbacks callbacks;
    bool fenced = false;
    callbacks.on_signal = [](int, int) {};
    callbacks.on_fenced = [&] { fenced = true; };
    callbacks.on_gone = [] {};
    line.listen(callbacks);
    line.read_now();
    return fenced ? 42 : 1;
  });
  Family family;
  REQUIRE(::read(pipe->read_end.get(), &family, sizeof family) == sizeof family);
  for (auto const worker : family.workers) await_end(worker);
  CHECK(is_alive(family.agent));
  REQUIRE(::kill(family.agent, SIGCONT) == 0);
  CHECK(test::code_of(guardian) == 42);
}

TEST_CASE("a fenced agent that never goes on is ended, too", "[guardian]") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto const guardian = test::start_pair([&](AgentSeat seat) {
    net::asio::io_context io{1};
    GuardianLine line(io, seat.channel);
    if (test::start_family()[1] == 0) return 1;
    line.alive(50ms, 50ms);
    ::raise(SIGSTOP);
    return 1;
  });
  CHECK(test::code_of(guardian) == 90);
  pipe->write_end.reset();
  char byte = 0;
  CHECK(::read(pipe->read_end.get(), &byte, 1) == 0);  // nobody is left who holds the other end
}
