// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/error_file.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <csignal>

namespace muster::launch {
namespace {

// As torch's record() writes it.
constexpr char kRecorded[] =
    R"({"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": )"
    R"("Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: boom\n", )"
    R"("timestamp": "1700000000"}}})";

}  // namespace

TEST_CASE("both forms of an error file are read", "[diagnose]") {
  auto file = parse_error_file(kRecorded);
  REQUIRE(file);
  CHECK(file->message == "ValueError: boom");
  CHECK(file->traceback.find("Traceback") == 0);
  CHECK(file->time_s == 1'700'000'000);
  file = parse_error_file(R"({"message": "out of disk", "timestamp": 1700000001})");
  REQUIRE(file);
  CHECK(file->message == "out of disk");
  CHECK(file->traceback.empty());
  CHECK(file->time_s == 1'700'000'001);
  CHECK(parse_error_file(R"({"message": "x"})")->time_s == 0);
  CHECK(parse_error_file(R"({"message": {"message": "x", "extraInfo": {"timestamp": 5.9}}})")
            ->time_s == 5);
  CHECK(parse_error_file(R"({"message": {"message": 3, "extraInfo": []}})")->message.empty());
}

TEST_CASE("a malformed error file is said, and harms nothing", "[diagnose]") {
  for (auto const* text : {"{", "[]", "null", "{}", R"({"message": 3})", "\xff\xfe"}) {
    INFO(text);
    CHECK_FALSE(parse_error_file(text));
    FailedWorker worker;
    take_error_file(worker, "/logs/error.json", std::string(text));
    CHECK(worker.message.find("its error file /logs/error.json cannot be read: it ") == 0);
  }
  CHECK(parse_error_file(R"({"message": "x", "timestamp": 1e300})")->time_s == 0);
}

TEST_CASE("no file and an empty file are no error", "[diagnose]") {
  FailedWorker worker;
  take_error_file(worker, "/logs/error.json", std::nullopt);
  take_error_file(worker, "/logs/error.json", std::string());
  CHECK(worker == FailedWorker{});
}

TEST_CASE("our own error file is the root failure's, with its exit code", "[diagnose]") {
  FailedWorker root;
  root.exit_code = 3;
  auto const copy = nlohmann::json::parse(error_file_for(root, std::string(kRecorded)));
  CHECK(copy["message"]["message"] == "ValueError: boom");
  CHECK(copy["message"]["errorCode"] == 3);
  CHECK(copy["message"]["extraInfo"]["timestamp"] == "1700000000");
  // The plain form stays as it is, as in torchrun.
  CHECK(error_file_for(root, std::string(R"({"message":"x"})")) == R"({"message":"x"})");
}

TEST_CASE("without the root's file our own is made from what is known", "[diagnose]") {
  FailedWorker root;
  root.signal = SIGSEGV;
  root.wall_ns = 1'700'000'000'500'000'000;
  auto const text = error_file_for(root, std::nullopt);
  auto const object = nlohmann::json::parse(text);
  CHECK(object["message"]["message"] == "killed by SIGSEGV (signal 11)");
  CHECK(object["message"]["errorCode"] == -SIGSEGV);
  CHECK(parse_error_file(text)->time_s == 1'700'000'000);
}

TEST_CASE("muster's own errors have the same form", "[diagnose]") {
  auto const file = parse_error_file(error_file_for(Error{Errc::timeout, "late", "wait"}, 7));
  REQUIRE(file);
  CHECK(file->message == "muster: late (wait)");
  CHECK(file->time_s == 7);
}

TEST_CASE("an error file that cannot be written says which", "[diagnose]") {
  auto const written = write_error_file("/proc/no/such/folder/error.json", "{}");
  REQUIRE_FALSE(written);
  CHECK(written.error().what.find("/proc/no/such/folder/error.json") != std::string::npos);
}

}  // namespace muster::launch
