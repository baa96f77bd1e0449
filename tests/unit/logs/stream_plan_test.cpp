// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/stream_plan.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

namespace {

constexpr ConsoleFacts kMany{false, true};
constexpr ConsoleFacts kOne{true, true};

RunOptions with_redirects(StreamSet set) {
  RunOptions options;
  options.redirects.others = set;
  return options;
}

RunOptions with_tee(StreamSet set) {
  auto options = with_redirects(set);  // the parser adds tee to redirects
  options.tee.others = set;
  return options;
}

}  // namespace

TEST_CASE("without options all ranks reach the console through pipes", "[logs]") {
  for (bool const is_stderr : {false, true}) {
    auto const plan = plan_stream(RunOptions{}, kMany, 3, is_stderr);
    CHECK(plan.end == StreamEnd::pipe);
    CHECK(plan.to_console);
    CHECK(!plan.to_file);
    CHECK(!plan.prefixed);
    CHECK(plan.keeps_tail == is_stderr);
  }
}

TEST_CASE("a lone worker keeps the terminal", "[logs]") {
  CHECK(plan_stream(RunOptions{}, kOne, 0, false).end == StreamEnd::inherited);
  CHECK(plan_stream(RunOptions{}, kOne, 0, true).end == StreamEnd::inherited);
  ConsoleFacts const no_terminal{true, false};
  CHECK(plan_stream(RunOptions{}, no_terminal, 0, false).end == StreamEnd::inherited);
  // Its last words are wanted for the report, and no terminal is lost.
  CHECK(plan_stream(RunOptions{}, no_terminal, 0, true).end == StreamEnd::pipe);
}

TEST_CASE("a stream that only goes to a file gets the file itself", "[logs]") {
  auto const options = with_redirects({true, false});
  CHECK(plan_stream(options, kMany, 0, false).end == StreamEnd::file);
  CHECK(plan_stream(options, kMany, 0, true).end == StreamEnd::pipe);
  CHECK(!plan_stream(with_redirects({true, true}), kMany, 0, true).keeps_tail);  // its file does
}

TEST_CASE("tee writes file and console, with the prefix", "[logs]") {
  auto const plan = plan_stream(with_tee({true, true}), kOne, 0, false);
  CHECK(plan.end == StreamEnd::pipe);
  CHECK(plan.to_file);
  CHECK(plan.to_console);
  CHECK(plan.prefixed);
}

TEST_CASE("ranks can be treated one by one", "[logs]") {
  RunOptions options;
  options.redirects.by_local_rank[1] = {true, true};
  CHECK(plan_stream(options, kMany, 0, false).end == StreamEnd::pipe);
  CHECK(plan_stream(options, kMany, 1, false).end == StreamEnd::file);
}

TEST_CASE("a rank that the filter leaves out is not on the console; its files stay", "[logs]") {
  auto options = with_tee({true, true});
  options.local_ranks_filter = std::set<int>{0};
  CHECK(plan_stream(options, kMany, 0, false).to_console);
  auto const teed = plan_stream(options, kMany, 1, false);
  CHECK(teed.to_file);
  CHECK(!teed.to_console);
  RunOptions plain;
  plain.local_ranks_filter = std::set<int>{0};
  CHECK(plan_stream(plain, kMany, 1, false).end == StreamEnd::null);
  auto const err = plan_stream(plain, kMany, 1, true);
  CHECK(err.end == StreamEnd::pipe);  // for its last lines
  CHECK(!err.to_console);
}

TEST_CASE("duplicate filters apply to tee'd streams alone", "[logs]") {
  auto options = with_tee({true, false});
  options.stdout_filters = {"loss"};
  options.stderr_filters = {"error"};
  CHECK(plan_stream(options, kMany, 0, false).needles == std::vector<std::string>{"loss"});
  CHECK(plan_stream(options, kMany, 0, true).needles.empty());
}

TEST_CASE("with --log-dir=/dev/null a redirect makes a stream silent, and tee shows it", "[logs]") {
  auto options = with_redirects({true, true});
  options.log_files_off = true;
  CHECK(plan_stream(options, kMany, 0, false).end == StreamEnd::null);
  auto const err = plan_stream(options, kMany, 0, true);
  CHECK(err.end == StreamEnd::pipe);
  CHECK(!err.to_console);
  auto teed = with_tee({true, true});
  teed.log_files_off = true;
  auto const plan = plan_stream(teed, kMany, 0, false);
  CHECK(plan.to_console);
  CHECK(!plan.to_file);
}
