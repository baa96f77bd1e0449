// SPDX-License-Identifier: Apache-2.0
// The workers of a round as real processes: what is told, in which order, also where a program does
// not load. Every wait ends at a state, with a deadline.

#include "launcher/agent/worker_group.hpp"

#include "rendezvous/base/now.hpp"
#include "tests/support/leased_program.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

Command shell(std::string script) {
  Command command;
  command.path = "/bin/sh";
  command.argv = {"sh", "-c", std::move(script)};
  command.environment = {"PATH=/usr/bin:/bin"};
  return command;
}

struct Story {
  net::asio::io_context io{1};
  Inherited inherited;
  std::vector<std::string> told;
  std::optional<Error> error;
  std::unique_ptr<WorkerGroup> group;

  Story() {
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    sigemptyset(&inherited.mask);
    sigemptyset(&inherited.ignored);
    WorkerGroup::Callbacks callbacks;
    callbacks.on_started = [this](Result<void> const& result) {
      told.push_back(result ? "started" : "failed");
      if (result) return;
      error = result.error();
      group->kill();
    };
    callbacks.on_ended = [this](int local_rank, ExitStatus status) {
      told.push_back(std::to_string(local_rank) + ":" + std::to_string(status.shell_code()));
    };
    callbacks.on_released = [this](int) { told.push_back("released"); };
    group = std::make_unique<WorkerGroup>(io, inherited, nullptr, std::move(callbacks));
  }
  ~Story() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  void run_until(std::string const& last) {
    auto const deadline = deadline_in(20s);
    while ((told.empty() || told.back() != last) && !deadline.passed(now())) {
      io.restart();
      io.run_for(5ms);
    }
    REQUIRE(!told.empty());
    REQUIRE(told.back() == last);
  }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a group is started, ends, and is released", "[worker_group]") {
  Story story;
  story.group->start({shell("exit 4")});
  story.run_until("released");
  CHECK(story.told == Told{"started", "0:4", "released"});
}

TEST_CASE("no end is told before the start is settled", "[worker_group]") {
  test::LeasedProgram slow;
  Story story;
  auto late = shell("exit 0");
  late.path = slow.path();
  story.group->start({shell("exit 3"), late});
  // The first one's end is there to be seen.
  auto const deadline = deadline_in(20s);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(story.group->pid_of(0)), &ended,
                  WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0 && !deadline.passed(now()))
    story.io.run_for(1ms);
  story.io.restart();
  story.io.run_for(5ms);
  CHECK(story.told.empty());
  slow.release();
  story.run_until("released");
  CHECK(story.told.front() == "started");
  CHECK(story.told.size() == 4);
}

TEST_CASE("a program that does not load in time fails the start, and is killed", "[worker_group]") {
  test::LeasedProgram slow;
  Story story;
  auto late = shell("exit 0");
  late.path = slow.path();
  story.group->start({late, shell("sleep 600")}, 50ms);
  story.run_until("released");
  REQUIRE(story.error);
  CHECK(story.error->code == Errc::timeout);
  CHECK(story.told.front() == "failed");
  CHECK(story.told.size() == 4);
}

TEST_CASE("a program that is not there fails the start before its end is told", "[worker_group]") {
  Story story;
  auto missing = shell("");
  missing.path = "/not/there";
  story.group->start({shell("sleep 600"), missing});
  story.run_until("released");
  REQUIRE(story.error);
  CHECK(story.error->code == Errc::not_found);
  CHECK(story.told.front() == "failed");
}

TEST_CASE("a stop while a program loads is obeyed, and the start is never told", "[worker_group]") {
  test::LeasedProgram slow;
  Story story;
  auto late = shell("exit 0");
  late.path = slow.path();
  story.group->start({late});
  story.group->kill();
  story.run_until("released");
  CHECK((story.told == Told{"started", "0:137", "released"} ||
         story.told == Told{"0:137", "released"}));
}

TEST_CASE("a stop before the start leaves nothing to be started", "[worker_group]") {
  Story story;
  story.group->stop(SIGTERM, 30s);
  CHECK(story.told == Told{"released"});
  story.group->start({shell("exit 0")});
  CHECK(story.group->pid_of(0) == 0);
}
