// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/spawn.hpp"

#include "rendezvous/base/unique_fd.hpp"
#include "tests/support/leased_program.hpp"
#include "tests/support/spawn_all.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

using namespace muster;
using namespace muster::launch;

namespace {

Inherited plain_signals() {
  Inherited inherited;
  sigemptyset(&inherited.mask);
  sigemptyset(&inherited.ignored);
  return inherited;
}

Command shell(std::string script) {
  Command command;
  command.path = "/bin/sh";
  command.argv = {"sh", "-c", std::move(script)};
  command.environment = {"PATH=/usr/bin:/bin"};
  return command;
}

ExitStatus end_of(Child& child) {
  pollfd watched{child.pidfd(), POLLIN, 0};
  REQUIRE(::poll(&watched, 1, 20'000) == 1);
  auto const status = child.peek();
  REQUIRE(status);
  child.reap();
  return *status;
}

std::string all_of(int fd) {
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// What the script prints, and that it exits 0.
std::string output_of(Command command, Inherited const& inherited) {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  command.out = pipe->write_end.get();
  auto spawned = test::spawn_all({&command, 1}, inherited);
  REQUIRE(!spawned.error);
  pipe->write_end.reset();
  auto const text = all_of(pipe->read_end.get());
  CHECK(end_of(spawned.children[0]) == ExitStatus{0, 0});
  return text;
}

}  // namespace

TEST_CASE("codes and signals are told apart", "[process]") {
  std::vector<Command> const commands{shell("exit 0"), shell("exit 7"), shell("kill -SEGV $$")};
  auto spawned = test::spawn_all(commands, plain_signals());
  REQUIRE(!spawned.error);
  REQUIRE(spawned.children.size() == 3);
  CHECK(end_of(spawned.children[0]) == ExitStatus{0, 0});
  CHECK(end_of(spawned.children[1]) == ExitStatus{7, 0});
  CHECK(end_of(spawned.children[2]) == ExitStatus{0, SIGSEGV});
}

TEST_CASE("a worker leads a session of its own and sees no descriptor of ours", "[process]") {
  UniqueFd const leaky{::open("/dev/null", O_RDONLY)};  // not close-on-exec
  REQUIRE(leaky.get() > 2);
  auto const text = output_of(
      shell("echo $$ $(cut -d' ' -f5,6 /proc/$$/stat); ls /proc/self/fd | wc -l"), plain_signals());
  int pid = 0, group = 0, session = 0, descriptors = 0;
  REQUIRE(std::sscanf(text.c_str(), "%d %d %d %d", &pid, &group, &session, &descriptors) == 4);
  CHECK(group == pid);
  CHECK(session == pid);
  CHECK(descriptors == 4);  // 0, 1, 2 and the folder that ls reads
}

TEST_CASE("a worker starts with the signals that muster found", "[process]") {
  auto inherited = plain_signals();
  sigaddset(&inherited.mask, SIGUSR2);
  inherited.child_ignored = true;
  sigset_t all, before;
  sigfillset(&all);
  REQUIRE(::sigprocmask(SIG_SETMASK, &all, &before) == 0);
  auto command = shell("");  // a shell would clear its mask
  command.path = "/bin/grep";
  command.argv = {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"};
  auto const text = output_of(std::move(command), inherited);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK(text == "SigBlk:\t0000000000000800\nSigIgn:\t0000000000010000\n");
}

TEST_CASE("a worker is bound to its processors before it runs", "[process]") {
  auto command = shell("grep Cpus_allowed_list /proc/self/status");
  command.cpus = {0};
  CHECK(output_of(command, plain_signals()) == "Cpus_allowed_list:\t0\n");
}

TEST_CASE("what cannot run is an error that says why, as early as the start", "[process]") {
  test::TempFolder const folder;
  auto const file = [&](char const* name, char const* text, mode_t mode) {
    auto const path = folder.path() + "/" + name;
    UniqueFd const out{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode)};
    REQUIRE(::write(out.get(), text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text)));
    return path;
  };
  struct Case {
    std::string path;
    int exit_code;
    std::string word;
  };
  std::vector<Case> const cases{
      {folder.path() + "/missing", 127, "no such file"},
      {file("no_line", "echo hello\n", 0755), 126, "no #! line"},
      {file("bad_line", "#!/not/there\n", 0755), 127, "first line"},
      {folder.path(), 126, "permission denied"},
  };
  for (auto const& one : cases) {
    Command command;
    command.path = one.path;
    command.argv = {"it"};
    auto spawned = test::spawn_all({&command, 1}, plain_signals());
    INFO(one.path);
    REQUIRE(spawned.error);
    CHECK(exit_code_of_spawn(*spawned.error) == one.exit_code);
    CHECK_THAT(spawned.error->what, Catch::Contains(one.word));
    for (auto& child : spawned.children) end_of(child);
  }
}

TEST_CASE("of many starts the first that failed is named, and the others run", "[process]") {
  std::vector<Command> commands(4, shell("exit 0"));
  commands[2].path = "/not/there";
  auto spawned = test::spawn_all(commands, plain_signals());
  REQUIRE(spawned.error);
  CHECK(spawned.failed == 2);
  REQUIRE(spawned.children.size() == 4);
  CHECK(end_of(spawned.children[0]) == ExitStatus{0, 0});
  for (std::size_t i = 1; i < 4; ++i) end_of(spawned.children[i]);
}

TEST_CASE("a program that does not load holds nobody up, and may come yet", "[process]") {
  test::LeasedProgram slow;
  std::vector<Command> commands(2, shell("exit 0"));
  commands[0].path = slow.path();
  Spawning spawning(commands, plain_signals());
  auto children = spawning.take_children();
  REQUIRE(children.size() == 2);
  CHECK(end_of(children[1]) == ExitStatus{0, 0});
  CHECK(!spawning.finished());
  slow.release();
  CHECK(end_of(children[0]) == ExitStatus{0, 0});
  CHECK(spawning.finished());
  CHECK(!spawning.error());
}
