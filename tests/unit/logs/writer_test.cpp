// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/writer.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

std::string read_all(int fd) {
  std::string text;
  char buffer[65'536];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

TEST_CASE("what is queued is written in order, and all of it by the end", "[logs]") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  {
    auto const sink = std::make_shared<Sink>(std::move(pipe->write_end));
    Writer writer(1'000);
    CHECK(writer.offer(sink, "one ", 0s));
    writer.insist(sink, "two ");
    CHECK(writer.offer(sink, "three", 1s));
    CHECK(writer.finish(20s));
    CHECK(!writer.offer(sink, "late", 0s));
  }
  CHECK(read_all(pipe->read_end.get()) == "one two three");
}

TEST_CASE("a sink that nobody reads fills the queue, and then refuses", "[logs]") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto const sink = std::make_shared<Sink>(pipe->write_end.get());
  Writer writer(200'000);
  std::string const chunk(50'000, 'x');  // a pipe holds 65,536 bytes
  int taken = 0;
  while (writer.offer(sink, std::string(chunk), 0s)) ++taken;
  CHECK(taken >= 4);
  CHECK(taken <= 6);
  writer.insist(sink, "\n");   // for what must not be lost there is always room
  CHECK(!writer.finish(1ms));  // nothing moves: given up
  // The thread is still in its write; it ends when somebody reads.
  std::string rest(1 << 20, '\0');
  std::size_t got = 0;
  auto const expected = static_cast<std::size_t>(taken) * chunk.size() + 1;
  while (got < expected) {
    auto const count = ::read(pipe->read_end.get(), rest.data(), rest.size());
    REQUIRE(count > 0);
    got += static_cast<std::size_t>(count);
  }
  CHECK(writer.finish(20s));
}

TEST_CASE("a sink whose reader went away swallows the rest, and the others go on", "[logs]") {
  std::signal(SIGPIPE, SIG_IGN);
  auto broken = make_pipe();
  auto whole = make_pipe();
  REQUIRE(broken);
  REQUIRE(whole);
  broken->read_end.reset();
  auto const gone = std::make_shared<Sink>(std::move(broken->write_end));
  {
    auto const there = std::make_shared<Sink>(std::move(whole->write_end));
    Writer writer(1'000);
    CHECK(writer.offer(gone, "a", 1s));
    CHECK(writer.offer(there, "b", 1s));
    CHECK(writer.offer(gone, "c", 1s));
    CHECK(writer.finish(20s));
  }
  CHECK(gone->error_number == EPIPE);
  CHECK(read_all(whole->read_end.get()) == "b");
}

TEST_CASE("the first error of a sink is told once, with its name", "[logs]") {
  std::string told;
  auto const failed = [&](Sink const& sink, int error) {
    told += sink.name + (error == ENOSPC ? ": full;" : ": other;");
  };
  Writer writer(1'000, failed);
  auto const full =
      std::make_shared<Sink>(UniqueFd{::open("/dev/full", O_WRONLY | O_CLOEXEC)}, "it");
  REQUIRE(full->owned);
  writer.insist(full, "one");
  writer.insist(full, "two");
  CHECK(writer.finish(20s));
  CHECK(told == "it: full;");
}

TEST_CASE("who was refused is told once of room, and nobody else", "[logs]") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto const sink = std::make_shared<Sink>(pipe->write_end.get());
  int told = 0;  // on the writer's thread, which finish() joins
  auto const nobody = [](Sink const&, int) {};
  Writer writer(200'000, nobody, [&told] { ++told; });
  std::string const chunk(50'000, 'x');
  std::size_t taken = 0;
  auto const refused = GENERATE(true, false);
  if (refused)
    while (writer.offer(sink, std::string(chunk), 0s)) ++taken;
  else
    for (; taken < 2; ++taken) CHECK(writer.offer(sink, std::string(chunk), 0s));
  std::string rest(1 << 20, '\0');
  for (std::size_t got = 0; got < taken * chunk.size();) {
    auto const count = ::read(pipe->read_end.get(), rest.data(), rest.size());
    REQUIRE(count > 0);
    got += static_cast<std::size_t>(count);
  }
  CHECK(writer.finish(20s));
  CHECK(told == (refused ? 1 : 0));
}
