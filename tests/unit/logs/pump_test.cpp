// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/pump.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fstream>
#include <future>
#include <sstream>

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

TEST_CASE("the last lines of a log that the worker writes itself are read from it", "[logs]") {
  test::TempFolder const folder;
  auto const path = folder.path() + "/stderr.log";
  std::ofstream(path) << std::string(200'000, 'x') << "\nlast words\n";
  Pump pump;
  PumpStream stream;
  stream.is_stderr = true;
  stream.plan.end = StreamEnd::file;
  stream.plan.keeps_tail = true;
  stream.path = path;
  std::vector<PumpStream> streams;
  streams.push_back(std::move(stream));
  pump.add(std::move(streams));
  CHECK(tails_of(pump).at(0) == std::vector<std::string>{"last words"});
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
