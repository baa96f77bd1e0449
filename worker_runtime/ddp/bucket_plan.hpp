// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which gradients travel together, and in which order: packed once, in the order in which the first
// backward made them ready, so that a bucket is full early and its all-reduce overlaps with the
// rest. torch's rule (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size):
// a bucket closes when it reaches its limit, and a parameter is never split. Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster::worker {

struct BucketLimits {
  std::int64_t first_bytes = std::int64_t{1} << 20;  // small, so that the first one leaves early
  std::int64_t bytes = std::int64_t{25} << 20;
};

struct PlannedBucket {
  std::vector<std::size_t> params;          // indices, in bucket order
  std::vector<std::int64_t> first_element;  // of each param; aligned to cache lines
  std::int64_t elements = 0;                // of the whole bucket, gaps included
};

struct BucketPlan {
  std::vector<PlannedBucket> buckets;  // in the order in which they are reduced

  std::uint64_t fingerprint() const;
};

// `elements[i]`: f32 elements of parameter i, in registration order. `ready`: indices in the order
// of the first backward; parameters it leaves out follow in reverse registration order, as do all
// where there was no backward to learn from.
std::vector<std::size_t> complete_order(std::size_t params, std::span<std::size_t const> ready);
BucketPlan plan_buckets(std::span<std::int64_t const> elements, std::span<std::size_t const> order,
                        BucketLimits limits);

}  // namespace muster::worker
