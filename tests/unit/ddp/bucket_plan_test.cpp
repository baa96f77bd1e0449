// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/bucket_plan.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

using Order = std::vector<std::size_t>;
using Sizes = std::vector<std::int64_t>;

std::vector<Order> buckets_of(Sizes const& elements, Order const& order, BucketLimits limits) {
  std::vector<Order> buckets;
  for (auto const& bucket : plan_buckets(elements, order, limits).buckets)
    buckets.push_back(bucket.params);
  return buckets;
}

}  // namespace

TEST_CASE("a bucket closes when it reaches its limit; the first limit is smaller", "[ddp]") {
  Sizes const elements{10, 10, 10, 10, 10, 10};
  Order const order{5, 4, 3, 2, 1, 0};
  CHECK(buckets_of(elements, order, {40, 80}) == std::vector<Order>{{5}, {4, 3}, {2, 1}, {0}});
  CHECK(buckets_of(elements, order, {41, 200}) == std::vector<Order>{{5, 4}, {3, 2, 1, 0}});
  CHECK(buckets_of(elements, order, {1 << 20, 25 << 20}) == std::vector<Order>{order});
}

TEST_CASE("a parameter larger than the limit has a bucket of its own and is not split", "[ddp]") {
  CHECK(buckets_of({1000, 1, 1}, {0, 1, 2}, {100, 100}) == std::vector<Order>{{0}, {1, 2}});
}

TEST_CASE("no parameters, no buckets; empty ones travel along", "[ddp]") {
  CHECK(buckets_of({}, {}, {}).empty());
  CHECK(buckets_of({0, 4}, {0, 1}, {}) == std::vector<Order>{{0, 1}});
}

TEST_CASE("gradients in a bucket begin at cache lines and do not overlap", "[ddp]") {
  auto const plan = plan_buckets(Sizes{3, 17, 16}, Order{2, 1, 0}, {});
  REQUIRE(plan.buckets.size() == 1);
  CHECK(plan.buckets[0].first_element == Sizes{0, 16, 48});
  CHECK(plan.buckets[0].elements == 64);
}

TEST_CASE("parameters that no backward reached follow in reverse registration order", "[ddp]") {
  CHECK(complete_order(5, Order{3, 1}) == Order{3, 1, 4, 2, 0});
  CHECK(complete_order(3, {}) == Order{2, 1, 0});
}

TEST_CASE("plans differ in their fingerprints by order, packing and sizes", "[ddp]") {
  Sizes const elements{100, 200, 300};
  auto const print = [&](Order const& order, BucketLimits limits) {
    return plan_buckets(elements, order, limits).fingerprint();
  };
  CHECK(print({2, 1, 0}, {}) == print({2, 1, 0}, {}));
  CHECK(print({2, 1, 0}, {}) != print({1, 2, 0}, {}));
  CHECK(print({2, 1, 0}, {}) != print({2, 1, 0}, {4, 4}));
  CHECK(plan_buckets(Sizes{100, 200, 400}, Order{2, 1, 0}, {}).fingerprint() !=
        print({2, 1, 0}, {}));
}

}  // namespace muster::worker
