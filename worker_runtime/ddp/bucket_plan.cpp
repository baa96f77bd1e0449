// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/bucket_plan.hpp"

#include "worker_runtime/core/fingerprint.hpp"

#include <utility>

namespace muster::worker {
namespace {

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kLineElements = 16;  // 64 bytes

std::int64_t aligned(std::int64_t elements) {
  return (elements + kLineElements - 1) / kLineElements * kLineElements;
}

}  // namespace

std::uint64_t BucketPlan::fingerprint() const {
  Fingerprint print;
  for (auto const& bucket : buckets) {
    print.add(std::uint64_t{bucket.params.size()});
    for (auto const index : bucket.params) print.add(std::uint64_t{index});
    print.add(static_cast<std::uint64_t>(bucket.elements));
  }
  return print.value();
}

std::vector<std::size_t> complete_order(std::size_t params, std::span<std::size_t const> ready) {
  std::vector<std::size_t> order(ready.begin(), ready.end());
  std::vector<bool> known(params, false);
  for (auto const index : ready) known[index] = true;
  for (auto index = params; index-- > 0;)
    if (!known[index]) order.push_back(index);
  return order;
}

BucketPlan plan_buckets(std::span<std::int64_t const> elements, std::span<std::size_t const> order,
                        BucketLimits limits) {
  BucketPlan plan;
  PlannedBucket open;
  std::int64_t bytes = 0;
  auto const close = [&] {
    plan.buckets.push_back(std::exchange(open, {}));
    bytes = 0;
  };
  for (auto const index : order) {
    open.params.push_back(index);
    open.first_element.push_back(open.elements);
    open.elements += aligned(elements[index]);
    bytes += elements[index] * kElementBytes;
    if (bytes >= (plan.buckets.empty() ? limits.first_bytes : limits.bytes)) close();
  }
  if (!open.params.empty()) close();
  return plan;
}

}  // namespace muster::worker
