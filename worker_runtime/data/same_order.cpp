// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/same_order.hpp"

#include "worker_runtime/comm/agree.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace muster::worker {
namespace {

constexpr std::size_t kNumbers = 4;
using Numbers = std::array<std::int64_t, kNumbers>;

std::string describe(Numbers const& numbers) {
  return "epoch " + std::to_string(numbers[2]) + ", sample " + std::to_string(numbers[3]) + " of " +
         std::to_string(numbers[0]) + ", seed " +
         std::to_string(static_cast<std::uint64_t>(numbers[1]));
}

}  // namespace

Result<void> check_same_order(ProcessGroup& group, SamplerState const& mine) {
  Numbers const own{mine.size, static_cast<std::int64_t>(mine.seed), mine.epoch, mine.consumed};
  auto const in = Tensor::of<std::int64_t>(Shape{kNumbers}, std::span<std::int64_t const>(own));
  auto const out = Tensor::zeros(Shape{group.shape().size, kNumbers}, DType::i64);
  MUSTER_CHECK(all_gather(group, in, out, {.site = "order of the samples"}).wait());
  auto const at = [&](int rank) {
    Numbers numbers{};
    auto const all = out.as<std::int64_t>().subspan(static_cast<std::size_t>(rank) * kNumbers);
    std::copy_n(all.begin(), kNumbers, numbers.begin());
    return numbers;
  };
  for (int rank = 1; rank < group.shape().size; ++rank)
    if (at(rank) != at(0))
      return Error{Errc::mismatch,
                   "rank " + std::to_string(rank) + " draws samples from " + describe(at(rank)) +
                       "; rank 0 from " + describe(at(0)),
                   "give all ranks one seed, and call set_epoch() on all or none"};
  return ok();
}

}  // namespace muster::worker
