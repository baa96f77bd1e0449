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

TEST_CASE("a wish for a rank that somebody has is refused", "[membership]") {
  HostBench bench(3);
  auto first = bench.join_of(1);
  first.facts.given_rank = 0;
  bench.say(1, first);
  auto twin = bench.join_of(2);
  twin.facts.given_rank = 0;
  CHECK(names(refusal(bench, twin), "host n1", "host n2"));
  twin.facts.given_rank = -1;
  CHECK(refusal(bench, twin).empty());
}

TEST_CASE("a wish for the rank of a node that does not answer is heard", "[membership]") {
  HostBench bench(3);
  auto first = bench.join_of(2);
  first.facts.given_rank = 1;
  bench.say(2, first);
  auto next = bench.join_of(3);  // of another host
  next.facts.given_rank = 1;
  CHECK(names(refusal(bench, next), "host n2", "host n3"));
  bench.event(Disconnected{Incarnation{2}});
  CHECK(refusal(bench, next).empty());
}

TEST_CASE("a running job takes newcomers, a finished one does not", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  auto third = bench.join_of(3);
  third.facts.given_rank = -1;
  CHECK(refusal(bench, third).empty());
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Done{bench.round()});
  CHECK(names(refusal(bench, third), "too late", "over"));
}

TEST_CASE("where ranks are given there are no spares", "[membership]") {
  HostBench bench(2);
  bench.settings.given_ranks = true;
  bench.run(2);
  CHECK_FALSE(refusal(bench, bench.join_of(3)).empty());
}

TEST_CASE("an endpoint of another job names both", "[membership]") {
  CHECK(names(refuse_other_job("x", "a", "y", "b").what, "run x, started on host a",
              "host b asks for run y"));
}
