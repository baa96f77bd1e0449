// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/root_cause.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace muster::launch {
namespace {

FailedWorker failed(int rank, std::int64_t boot_ns, EndedBy by = EndedBy::itself) {
  FailedWorker worker;
  worker.rank = rank;
  worker.exit_code = 1;
  worker.boot_ns = boot_ns;
  worker.ended_by = by;
  return worker;
}

NodeReport node(std::string host, std::string boot_id, std::vector<FailedWorker> workers) {
  NodeReport report;
  report.host = std::move(host);
  report.boot_id = std::move(boot_id);
  report.workers = std::move(workers);
  return report;
}

std::vector<int> ranks_of(std::vector<NodeReport> const& reports) {
  std::vector<int> ranks;
  for (auto const& failure : order_by_cause(reports)) ranks.push_back(failure.worker->rank);
  return ranks;
}

}  // namespace

TEST_CASE("on one node the earliest end is the cause", "[diagnose]") {
  CHECK(ranks_of({node("a", "A", {failed(0, 30), failed(1, 10), failed(2, 20)})}) ==
        std::vector<int>{1, 2, 0});
}

TEST_CASE("those stopped by muster and those who lost a peer are never the cause", "[diagnose]") {
  CHECK(ranks_of({node("a", "A",
                       {failed(0, 1, EndedBy::launcher), failed(1, 2, EndedBy::peer_lost),
                        failed(2, 3)})}) == std::vector<int>{2, 1, 0});
}

TEST_CASE("between machines the order of arrival decides, not their clocks", "[diagnose]") {
  CHECK(ranks_of({node("a", "A", {failed(0, 900)}), node("b", "B", {failed(1, 5)})}) ==
        std::vector<int>{0, 1});
}

TEST_CASE("two agents on one machine share a clock", "[diagnose]") {
  CHECK(ranks_of({node("a", "A", {failed(0, 900)}), node("a2", "A", {failed(1, 5)})}) ==
        std::vector<int>{1, 0});
  // Without a boot id nothing is assumed.
  CHECK(ranks_of({node("a", "", {failed(0, 900)}), node("a2", "", {failed(1, 5)})}) ==
        std::vector<int>{0, 1});
}

TEST_CASE("a node whose workers only followed does not hide the cause on another", "[diagnose]") {
  CHECK(ranks_of({node("a", "A", {failed(0, 1, EndedBy::peer_lost)}),
                  node("b", "B", {failed(3, 9)})}) == std::vector<int>{3, 0});
}

TEST_CASE("gloo's and NCCL's complaints about a peer mark a follower", "[diagnose]") {
  auto follower = failed(0, 1);
  follower.stderr_tail = {
      "RuntimeError: [../tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:80"};
  auto const reports = std::vector{node("a", "A", {follower}), node("b", "B", {failed(1, 5)})};
  CHECK(ranks_of(reports) == std::vector<int>{1, 0});
  CHECK(order_by_cause(reports)[1].role == Role::follower);
  // A crash is a crash, whatever was printed before.
  follower.signal = SIGSEGV;
  CHECK(ranks_of({node("a", "A", {follower}), node("b", "B", {failed(1, 5)})}) ==
        std::vector<int>{0, 1});
  // If all complain, the first one leads.
  CHECK(ranks_of({node("a", "A", {failed(7, 1, EndedBy::peer_lost)})}) == std::vector<int>{7});
}

}  // namespace muster::launch
