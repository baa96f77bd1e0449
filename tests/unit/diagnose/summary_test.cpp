// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/summary.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster::launch {
namespace {

constexpr std::int64_t kTime = 1'700'000'000'000'000'000;  // 2023-11-14 22:13:20 UTC

// MUSTER_REWRITE=1 records the text anew.
std::string golden(std::string const& name, std::string const& text) {
  auto const path = std::string(MUSTER_GOLDEN_DIR "/") + name;
  if (std::getenv("MUSTER_REWRITE") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::ostringstream recorded;
  recorded << in.rdbuf();
  return recorded.str();
}

FailedWorker failed(int rank, int local_rank, int pid) {
  FailedWorker worker;
  worker.rank = rank;
  worker.local_rank = local_rank;
  worker.pid = pid;
  worker.exit_code = 1;
  worker.boot_ns = 100 + rank;
  worker.wall_ns = kTime;
  return worker;
}

NodeReport node(std::string host, std::vector<FailedWorker> workers) {
  NodeReport report;
  report.host = std::move(host);
  report.boot_id = report.host;
  report.program = "train.py";
  report.workers = std::move(workers);
  return report;
}

struct Utc {
  Utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

}  // namespace

TEST_CASE("a crash by signal has torchrun's block, a name and advice", "[diagnose]") {
  Utc const utc;
  auto worker = failed(5, 1, 4711);
  worker.signal = SIGSEGV;
  auto const text = failure_summary({node("gpu-03", {worker})});
  CHECK(text == golden("summary_signal.txt", text));
}

TEST_CASE("an exception without error file shows its traceback from stderr", "[diagnose]") {
  Utc const utc;
  auto worker = failed(2, 0, 4712);
  worker.stderr_log = "/logs/none_ab/attempt_0/0/stderr.log";
  worker.stderr_tail = {"warning: old option",
                        "Traceback (most recent call last):",
                        "  File \"a.py\", line 2, in <module>",
                        "    step()",
                        "KeyError: 'x'",
                        "",
                        "The above exception was the direct cause of the following exception:",
                        "",
                        "Traceback (most recent call last):",
                        "  File \"a.py\", line 4, in <module>",
                        "ValueError: boom"};
  auto stopped = failed(3, 1, 4713);
  stopped.ended_by = EndedBy::launcher;
  stopped.signal = SIGTERM;
  auto lost = failed(0, 0, 4714);
  lost.ended_by = EndedBy::peer_lost;
  lost.exit_code = 89;
  auto second = failed(1, 1, 4715);
  auto const text =
      failure_summary({node("gpu-03", {worker, stopped}), node("gpu-04", {lost, second})});
  CHECK(text == golden("summary_traceback.txt", text));
}

TEST_CASE("an error file's traceback is shown whole", "[diagnose]") {
  Utc const utc;
  auto worker = failed(0, 0, 4716);
  worker.error_file = "/logs/0/error.json";
  worker.error_time_s = 1'700'000'001;
  worker.message = "ValueError: boom";
  worker.traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 2\nValueError: boom\n";
  auto const text = failure_summary({node("gpu-03", {worker})});
  CHECK(text == golden("summary_error_file.txt", text));
}

TEST_CASE("thousands of failures do not fill the screen", "[diagnose]") {
  std::vector<FailedWorker> workers;
  for (int rank = 0; rank < 5000; ++rank) workers.push_back(failed(rank, rank, 1000 + rank));
  auto const text = failure_summary({node("a", std::move(workers))});
  CHECK(text.size() < 6000);
  CHECK(text.find("and ranks 16-4999") != std::string::npos);
}

TEST_CASE("a long stderr without a traceback is cut to its end", "[diagnose]") {
  auto worker = failed(0, 0, 1);
  for (int i = 0; i < 100; ++i) worker.stderr_tail.push_back("line " + std::to_string(i));
  auto const text = failure_summary({node("a", {worker})});
  CHECK(text.find("| line 79\n") == std::string::npos);
  CHECK(text.find("| line 80\n") != std::string::npos);
  CHECK(text.find("| line 99\n") != std::string::npos);
}

TEST_CASE("without any failure there is nothing to say", "[diagnose]") {
  CHECK(failure_summary({}).empty());
  CHECK(failure_summary({node("a", {})}).empty());
  CHECK(cause_line({}).empty());
  CHECK(cause_exit_code({}) == 1);
}

TEST_CASE("the exit code is that of the cause", "[diagnose]") {
  auto cause = failed(0, 0, 1);
  cause.exit_code = 7;
  auto stopped = failed(1, 1, 2);
  stopped.boot_ns = 1;
  stopped.signal = SIGTERM;
  stopped.ended_by = EndedBy::launcher;
  CHECK(cause_exit_code({node("a", {stopped, cause})}) == 7);
  cause.signal = SIGKILL;
  CHECK(cause_exit_code({node("a", {stopped, cause})}) == 137);
}

TEST_CASE("one line names rank, host and reason", "[diagnose]") {
  auto worker = failed(5, 1, 1);
  worker.exit_code = 3;
  worker.message = "ValueError: boom\nmore";
  CHECK(cause_line({node("gpu-03", {worker})}) ==
        "rank 5 (local rank 1) on gpu-03 failed first: exit code 3: ValueError: boom");
  worker.message.clear();
  worker.stderr_tail = {"[rank5]: Traceback (most recent call last):",
                        "[rank5]:   File \"train.py\", line 1, in <module>",
                        "[rank5]: ValueError: boom"};
  CHECK(cause_line({node("gpu-03", {worker})}) ==
        "rank 5 (local rank 1) on gpu-03 failed first: exit code 3: ValueError: boom");
}

}  // namespace muster::launch
