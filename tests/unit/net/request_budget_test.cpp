// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/request_budget.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

TimePoint at(Duration time) {
  return TimePoint{time};
}

using Keys = std::vector<RequestBudget::Key>;
BudgetRules const kRules{1'000, 10, 10s, 100};

}  // namespace

TEST_CASE("small requests never wait", "[net]") {
  RequestBudget budget(kRules);
  for (RequestBudget::Key key = 1; key <= 1'000; ++key) CHECK(budget.grow(key, 10, at(0s)));
  CHECK(budget.total() == 0);
}

TEST_CASE("large ones wait beyond the bound, but for the one that began first", "[net]") {
  RequestBudget budget(kRules);
  CHECK(budget.grow(1, 500, at(0s)));
  CHECK(budget.grow(2, 500, at(0s)));
  CHECK_FALSE(budget.grow(2, 600, at(0s)));
  CHECK(budget.grow(1, 900, at(0s)));
  CHECK(budget.resumed(at(0s)).empty());
  budget.release(1);
  CHECK(budget.resumed(at(0s)) == Keys{2});
  CHECK(budget.resumed(at(0s)).empty());
  CHECK(budget.total() == 600);
}

TEST_CASE("whoever is next in line goes on although the bound is still passed", "[net]") {
  RequestBudget budget(kRules);
  CHECK(budget.grow(1, 400, at(0s)));
  CHECK(budget.grow(2, 600, at(0s)));
  CHECK_FALSE(budget.grow(2, 1'100, at(0s)));
  CHECK_FALSE(budget.grow(3, 50, at(0s)));
  budget.release(1);
  CHECK(budget.total() == 1'150);
  CHECK(budget.resumed(at(0s)) == Keys{2});
  CHECK(budget.grow(2, 2'000, at(0s)));
  budget.release(2);
  CHECK(budget.resumed(at(0s)) == Keys{3});
}

TEST_CASE("who keeps others waiting has to move", "[net]") {
  RequestBudget budget(kRules);
  CHECK(budget.grow(1, 1'000, at(0s)));
  CHECK_FALSE(budget.next_due());
  CHECK(budget.overdue(at(1h)).empty());  // nobody waits: it may take its time
  CHECK_FALSE(budget.grow(2, 20, at(5s)));
  CHECK(budget.next_due() == at(20s));  // 10 s, and 1,000 bytes at 100 a second
  CHECK(budget.overdue(at(19s)).empty());
  CHECK(budget.overdue(at(20s)) == Keys{1});
  budget.release(1);
  CHECK(budget.resumed(at(20s)) == Keys{2});
  CHECK_FALSE(budget.next_due());
}

TEST_CASE("the time of one that waited begins when it is read on", "[net]") {
  RequestBudget budget(kRules);
  CHECK(budget.grow(1, 1'000, at(0s)));
  CHECK_FALSE(budget.grow(2, 900, at(0s)));
  budget.release(1);
  CHECK(budget.resumed(at(60s)) == Keys{2});
  CHECK_FALSE(budget.grow(3, 200, at(60s)));
  CHECK(budget.overdue(at(61s)).empty());
  CHECK(budget.next_due() == at(79s));
}

TEST_CASE("one that is gone is forgotten, waiting or not", "[net]") {
  RequestBudget budget(kRules);
  CHECK(budget.grow(1, 1'000, at(0s)));
  CHECK_FALSE(budget.grow(2, 900, at(0s)));
  budget.release(2);
  budget.release(2);
  CHECK(budget.total() == 1'000);
  CHECK(budget.waiting() == 0);
  budget.release(1);
  CHECK(budget.total() == 0);
}
