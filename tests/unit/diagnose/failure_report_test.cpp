// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/failure_report.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

NodeReport sample() {
  NodeReport report;
  report.host = "gpu-03";
  report.boot_id = "b1";
  report.group_rank = 1;
  report.round = 7;
  report.restart_count = 2;
  report.program = "train.py";
  FailedWorker worker;
  worker.rank = 5;
  worker.local_rank = 1;
  worker.pid = 4711;
  worker.signal = 11;
  worker.boot_ns = 123'456'789'012;
  worker.wall_ns = 1'700'000'000'000'000'000;
  worker.message = "ValueError: boom";
  worker.stderr_tail = {"a", "b"};
  report.workers = {worker, FailedWorker{}};
  report.workers[1].ended_by = EndedBy::peer_lost;
  report.workers[1].exit_code = 89;
  return report;
}

}  // namespace

TEST_CASE("a failure report survives its JSON form", "[diagnose]") {
  auto const back = node_report_from_json(to_json(sample()));
  REQUIRE(back);
  CHECK(*back == sample());
}

TEST_CASE("bytes of a worker's stderr that are no UTF-8 do not break the report", "[diagnose]") {
  auto report = sample();
  report.workers[0].stderr_tail = {"bad \xff byte"};
  auto const back = node_report_from_json(to_json(report));
  REQUIRE(back);
  CHECK(back->workers[0].stderr_tail[0] == "bad \xEF\xBF\xBD byte");
}

TEST_CASE("what is no report is an error, not a crash", "[diagnose]") {
  for (auto const* text : {"", "null", "[1]", "{", R"({"host": 3})", R"({"workers": [1]})",
                           R"({"workers": [{"stderr_tail": 1}]})"}) {
    INFO(text);
    auto const back = node_report_from_json(text);
    REQUIRE_FALSE(back);
    CHECK(back.error().code == Errc::protocol);
  }
}

TEST_CASE("missing fields keep their default, unknown ones are ignored", "[diagnose]") {
  auto const back = node_report_from_json(R"({"host": "a", "new": 1, "workers": [{"rank": 3}]})");
  REQUIRE(back);
  CHECK(back->host == "a");
  REQUIRE(back->workers.size() == 1);
  CHECK(back->workers[0].rank == 3);
}

TEST_CASE("a signal is reported as 128 plus its number", "[diagnose]") {
  CHECK(exit_code_of(sample().workers[0]) == 139);
  CHECK(exit_code_of(sample().workers[1]) == 89);
}

}  // namespace muster::launch
