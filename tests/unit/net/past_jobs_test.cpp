// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/past_jobs.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;

namespace {

PastJob job(std::string run_id, std::uint64_t generation, int exit_code) {
  PastJob made;
  made.header.run_id = std::move(run_id);
  made.header.generation = Generation{generation};
  made.outcome.exit_code = exit_code;
  return made;
}

}  // namespace

TEST_CASE("how a job ended is known for a while, to members of that life of it", "[net]") {
  PastJobs past;
  TimePoint const start{};
  CHECK(past.find("a", Generation{1}, start) == nullptr);
  past.note(job("a", 1, 7), start);
  REQUIRE(past.find("a", Generation{1}, start) != nullptr);
  CHECK(past.find("a", Generation{1}, start)->outcome.exit_code == 7);
  CHECK(past.find("a", Generation{2}, start) == nullptr);
  CHECK(past.find("a", Generation{}, start) == nullptr);
  CHECK(past.find("b", Generation{1}, start) == nullptr);
  past.note(job("a", 2, 0), start + kPastFor / 2);
  CHECK(past.find("a", Generation{1}, start + kPastFor / 2) == nullptr);
  CHECK(past.find("a", Generation{2}, start + kPastFor) != nullptr);
  CHECK(past.find("a", Generation{2}, start + 2 * kPastFor) == nullptr);
}

TEST_CASE("ended jobs with long reports do not fill the memory", "[net]") {
  PastJobs past;
  TimePoint const start{};
  for (std::uint64_t i = 1; i <= 100; ++i) {
    auto made = job("job" + std::to_string(i), i, 7);
    made.outcome.reports.emplace_back(1u << 20, 'x');
    past.note(std::move(made), start);
  }
  CHECK(past.find("job1", Generation{1}, start)->outcome.reports.size() == 1);
  CHECK(past.find("job100", Generation{100}, start)->outcome.reports.empty());
  CHECK(past.find("job100", Generation{100}, start)->outcome.exit_code == 7);
  auto later = job("late", 1, 7);
  later.outcome.reports.emplace_back(1u << 20, 'x');
  past.note(std::move(later), start + kPastFor);
  CHECK(past.find("late", Generation{1}, start + kPastFor)->outcome.reports.size() == 1);
}
