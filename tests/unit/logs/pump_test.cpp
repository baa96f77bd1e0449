// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/pump.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <poll.h>
#include <sstream>
#include <thread>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

std::string content(std::string const& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

SinkPointer file_sink(std::string const& path) {
  return std::make_shared<Sink>(
      UniqueFd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)});
}

// A worker's end of a stream that the pump drains.
UniqueFd connect(Pump& pump, PumpStream stream) {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(::fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK) == 0);
  stream.read_end = std::move(pipe->read_end);
  std::vector<PumpStream> streams;
  streams.push_back(std::move(stream));
  pump.add(std::move(streams));
  return std::move(pipe->write_end);
}

void write_text(UniqueFd const& end, std::string_view text) {
  REQUIRE(::write(end.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

Tails tails_of(Pump& pump) {
  std::promise<Tails> told;
  auto tails = told.get_future();
  pump.collect_tails([&](Tails found) { told.set_value(std::move(found)); });
  REQUIRE(tails.wait_for(20s) == std::future_status::ready);
  return tails.get();
}

}  // namespace

TEST_CASE("a file gets the bytes of its stream unchanged", "[logs]") {
  test::TempFolder const folder;
  auto const path = folder.path() + "/stdout.log";
  auto const text = "bar\r 1%\r\n\0\xff no ending"s;
  Pump pump;
  PumpStream stream;
  stream.file = file_sink(path);
  auto end = connect(pump, std::move(stream));
  write_text(end, text);
  end.reset();
  CHECK(pump.finish(20s));
  CHECK(content(path) == text);
}

TEST_CASE("lines with a needle also go to the filtered file, with the prefix", "[logs]") {
  test::TempFolder const folder;
  auto const path = folder.path() + "/filtered_stdout.log";
  Pump pump;
  PumpStream stream;
  stream.prefix = "[default1]:";
  stream.plan.needles = {"loss", "lr="};
  stream.filtered = file_sink(path);
  auto const end = connect(pump, std::move(stream));
  write_text(end, "step 1\nloss 2\nlr=3 and loss\nlos s\nloss at the end");
  CHECK(pump.finish(20s));
  CHECK(content(path) ==
        "[default1]:loss 2\n[default1]:lr=3 and loss\n[default1]:loss at the end\n");
}

TEST_CASE("the last stderr lines are those written before the question", "[logs]") {
  Pump pump;
  PumpStream stream;
  stream.local_rank = 4;
  stream.is_stderr = true;
  stream.plan.keeps_tail = true;
  auto const end = connect(pump, std::move(stream));
  write_text(end, "one\ntwo\n");
  auto const tails = tails_of(pump);
  REQUIRE(tails.count(4) == 1);
  CHECK(tails.at(4) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("what takes no more output is named, and of what it did not take the sum is known",
          "[logs]") {
  auto nobody_reads = make_pipe();
  REQUIRE(nobody_reads);
  std::promise<std::string> told;
  auto stalled = told.get_future();
  Pump pump(LogStall::stop);
  pump.on_stall([&](std::string what) { told.set_value(std::move(what)); });
  PumpStream stream;
  stream.file = std::make_shared<Sink>(std::move(nobody_reads->write_end), "/logs/stdout.log");
  auto const end = connect(pump, std::move(stream));
  std::string const text(4095, '.');
  while (stalled.wait_for(0s) != std::future_status::ready) write_text(end, text + "\n");
  CHECK(stalled.get() == "log file '/logs/stdout.log' takes no more output");
  std::signal(SIGPIPE, SIG_IGN);
  nobody_reads->read_end.reset();
  CHECK(pump.finish(20s));
}

TEST_CASE("with block a worker is held up while nothing is taken, and goes on when it is",
          "[logs]") {
  constexpr std::size_t kAll = 20u << 20, kHeldUp = 16u << 20;  // more than a writer's queue
  auto slow_reader = make_pipe();
  REQUIRE(slow_reader);
  Pump pump(LogStall::block);
  PumpStream stream;
  stream.file = std::make_shared<Sink>(std::move(slow_reader->write_end), "/logs/stdout.log");
  auto const end = connect(pump, std::move(stream));
  std::atomic<std::size_t> written = 0;
  auto worker = std::async(std::launch::async, [&] {
    std::string const piece(1u << 16, 'x');
    while (written<kAll&& ::write(end.get(), piece.data(), piece.size())> 0)
      written += piece.size();
  });
  while (written < kHeldUp) std::this_thread::yield();
  std::string taken(1u << 16, '\0');
  for (std::size_t got = 0; got < kAll;) {
    pollfd there{slow_reader->read_end.get(), POLLIN, 0};
    REQUIRE(::poll(&there, 1, 20'000) == 1);
    auto const count = ::read(slow_reader->read_end.get(), taken.data(), taken.size());
    REQUIRE(count > 0);
    got += static_cast<std::size_t>(count);
  }
  worker.get();
  CHECK(pump.finish(20s));
}

TEST_CASE("the end of a round takes what the pipes hold, open or not", "[logs]") {
  test::TempFolder const folder;
  auto const path = folder.path() + "/stdout.log";
  Pump pump;
  PumpStream stream;
  stream.file = file_sink(path);
  auto const end = connect(pump, std::move(stream));  // stays open: somebody escaped with it
  write_text(end, "words\n");
  pump.end_round();
  CHECK(tails_of(pump).empty());
  CHECK(pump.finish(20s));
  CHECK(content(path) == "words\n");
}
