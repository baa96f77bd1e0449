// SPDX-License-Identifier: Apache-2.0
// Each case runs in a child: the handler, the stop flag and the environment belong to the process.
#include "rendezvous/base/env_contract.hpp"
#include "tests/support/temp_folder.hpp"
#include "worker_runtime/comm/session.hpp"
#include "worker_runtime/comm/stop_flag.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace muster;
using namespace muster::worker;

namespace {

struct Outcome {
  int code = -1;
  std::string error_file;
};

Outcome run_in_child(std::function<Result<void>()> const& body) {
  test::TempFolder const folder;
  auto const path = (folder / "error.json").string();
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv(env::kErrorFile, path.c_str(), 1);
    ::setenv(env::kRank, "2", 1);
    ::_exit(run_main(body));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return Outcome{WEXITSTATUS(status), content.str()};
}

}  // namespace

TEST_CASE("a body that succeeds exits 0 and leaves no error file") {
  auto const outcome = run_in_child([] { return ok(); });
  CHECK(outcome.code == 0);
  CHECK(outcome.error_file.empty());
}

TEST_CASE("an error exits 1 and is written in torchrun's format") {
  auto const outcome = run_in_child([]() -> Result<void> {
    return Error{Errc::bad_input, "data \xff is \"wrong\"", "look at --data"};
  });
  CHECK(outcome.code == 1);
  auto const file = nlohmann::json::parse(outcome.error_file);
  auto const message = file.at("message").at("message").get<std::string>();
  CHECK(message.find("bad_input: data ") == 0);
  CHECK(message.find("(look at --data)") != std::string::npos);
  auto const& extra = file.at("message").at("extraInfo");
  CHECK(extra.at("py_callstack").is_string());
  CHECK(std::stoll(extra.at("timestamp").get<std::string>()) > 1'500'000'000);
}

TEST_CASE("a lost peer exits 89 and leaves the error file to the cause") {
  auto const outcome = run_in_child([]() -> Result<void> {
    return Error{Errc::peer_lost, "rank 1 is lost", {}};
  });
  CHECK(outcome.code == env::kExitPeerLost);
  CHECK(outcome.error_file.empty());
}

TEST_CASE("an exception that leaves the body is an error like others") {
  auto const outcome =
      run_in_child([]() -> Result<void> { throw std::runtime_error("out of luck"); });
  CHECK(outcome.code == 1);
  CHECK(outcome.error_file.find("out of luck") != std::string::npos);
}

TEST_CASE("SIGTERM is noted, and the session agrees to stop") {
  auto const outcome = run_in_child([]() -> Result<void> {
    MUSTER_TRY(auto session, Session::open(EnvView()));
    MUSTER_TRY(auto const before, session.stop_requested());
    std::raise(SIGTERM);
    MUSTER_TRY(auto const after, session.stop_requested());
    if (before || !after || !process_was_asked_to_stop())
      return Error{Errc::internal, "the signal was not noted", {}};
    return ok();
  });
  CHECK(outcome.code == 0);
}
