// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/admission.hpp"

#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;

namespace {

std::string refusal(HostBench const& bench, Join const& join) {
  auto const error = refuse_newcomer(bench.host, join, bench.settings);
  return error ? error->what : "";
}

bool names(std::string const& text, std::string const& a, std::string const& b) {
  return text.find(a) != std::string::npos && text.find(b) != std::string::npos;
}

}  // namespace

TEST_CASE("a node that asks for the same job is admitted", "[membership]") {
  HostBench bench(3);
  bench.join(1);
  CHECK(refusal(bench, bench.join_of(2)).empty());
}

TEST_CASE("another job's flags are refused with both hosts named", "[membership]") {
  HostBench bench(3);
  bench.join(1);
  auto join = bench.join_of(2);
  SECTION("nnodes") {
    join.job.max_nodes = 4;
  }
  SECTION("max-restarts") {
    join.job.max_restarts = 3;
  }
  SECTION("backend") {
    join.job.given_ranks = true;
  }
  CHECK(names(refusal(bench, join), "host n1", "host n2"));
  CHECK(refuse_newcomer(bench.host, join, bench.settings)->code == Errc::refused);
}

TEST_CASE("a node rank that is taken or does not exist is refused", "[membership]") {
  HostBench bench(3);
  bench.settings.given_ranks = true;
  bench.join(1);
  auto twin = bench.join_of(2);
  twin.facts.given_rank = 0;
  CHECK(names(refusal(bench, twin), "host n1", "host n2"));
  twin.facts.given_rank = 3;
  CHECK(refusal(bench, twin).find("--node-rank=3") != std::string::npos);
  twin.facts.given_rank = 1;
  CHECK(refusal(bench, twin).empty());
}

TEST_CASE("a late joiner hears why", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  CHECK(names(refusal(bench, bench.join_of(3)), "too late", "2 nodes"));
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Done{bench.round()});
  CHECK(names(refusal(bench, bench.join_of(3)), "too late", "over"));
}

TEST_CASE("a member of a world that began under another host is refused", "[membership]") {
  HostBench bench(2);
  auto join = bench.join_of(2);
  join.status.committed = RoundNumber{3};
  auto const error = refuse_newcomer(bench.host, join, bench.settings);
  REQUIRE(error);
  CHECK(error->code == Errc::lost_quorum);
}

TEST_CASE("an endpoint of another job names both", "[membership]") {
  CHECK(names(refuse_other_job("x", "a", "y", "b").what, "run x, started on host a",
              "host b asks for run y"));
}
