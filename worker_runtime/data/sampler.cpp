// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace muster::worker {

Result<DistributedSampler> DistributedSampler::make(SamplerOptions options) {
  auto const size = std::to_string(options.size);
  if (options.size < 1)
    return Error{Errc::bad_input, "a sampler over " + size + " samples; at least one is needed",
                 "check the data set's folder"};
  if (options.shuffle && options.size >= kMaxPermuted)
    return Error{Errc::unsupported,
                 "a shuffled sampler over " + size + " samples; the limit is " +
                     std::to_string(kMaxPermuted - 1),
                 "shuffle shards of the data, or draw without shuffling"};
  if (options.replicas < 1 || options.rank < 0 || options.rank >= options.replicas)
    return Error{Errc::bad_input,
                 "a sampler for rank " + std::to_string(options.rank) + " of " +
                     std::to_string(options.replicas),
                 "the rank is at least 0 and below the number of ranks"};
  DistributedSampler made(options);
  made.order_epoch();
  return made;
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  auto const changed = epoch != epoch_;
  epoch_ = epoch;
  start_ = position_ = 0;
  if (changed) order_epoch();
}

Result<void> DistributedSampler::resume(SamplerState const& state) {
  if (state.size != options_.size || state.seed != options_.seed)
    return Error{Errc::mismatch,
                 "the saved sampler drew from " + std::to_string(state.size) +
                     " samples with seed " + std::to_string(state.seed) + ", this one draws from " +
                     std::to_string(options_.size) + " with seed " + std::to_string(options_.seed),
                 "resume with the same data and seed, or start afresh in another folder"};
  if (state.epoch < 0 || state.consumed < 0 || state.consumed > state.size)
    return Error{Errc::corrupt,
                 "the saved sampler stands at sample " + std::to_string(state.consumed) + " of " +
                     std::to_string(state.size) + " in epoch " + std::to_string(state.epoch),
                 ""};
  set_epoch(state.epoch);
  start_ = state.consumed;
  return ok();
}

SamplerState DistributedSampler::state() const {
  auto const together = start_ + position_ * options_.replicas;
  auto const over = position_ > 0 && remaining_count() == 0;
  return {options_.size, options_.seed, epoch_, over ? options_.size : together};
}

Draw DistributedSampler::next(std::int64_t count) {
  Draw draw;
  auto const take = std::min(count, remaining_count());
  draw.rows.reserve(static_cast<std::size_t>(std::max<std::int64_t>(take, 0)));
  for (std::int64_t i = 0; i < take; ++i, ++position_) {
    auto const place = start_ + options_.rank + position_ * options_.replicas;
    draw.rows.push_back(order_[static_cast<std::size_t>(place % options_.size)]);
    if (place >= options_.size) ++draw.padding;
  }
  draw.over = draw.rows.empty() && count > 0;
  if (draw.over) set_epoch(epoch_ + 1);
  return draw;
}

Draw DistributedSampler::next_together(std::int64_t count) {
  start_ = state().consumed;  // whatever next() drew before is behind us
  position_ = 0;
  auto const end = std::min(start_ + std::max<std::int64_t>(count, 0), options_.size);
  Draw draw;
  draw.over = start_ == options_.size;
  for (auto place = start_ + options_.rank; place < end; place += options_.replicas)
    draw.rows.push_back(order_[static_cast<std::size_t>(place)]);
  start_ = end;
  if (draw.over) set_epoch(epoch_ + 1);
  return draw;
}

std::vector<std::int64_t> DistributedSampler::remaining() const {
  auto copy = *this;
  return copy.next(remaining_count()).rows;
}

std::int64_t DistributedSampler::remaining_count() const {
  return drawn_in_epoch() - position_;
}

std::int64_t DistributedSampler::drawn_in_epoch() const {
  auto const left = options_.size - start_;
  auto const ranks = static_cast<std::int64_t>(options_.replicas);
  switch (options_.tail) {
    case Tail::pad:
      return (left + ranks - 1) / ranks;
    case Tail::drop:
      return left / ranks;
    case Tail::exact:
      return (left - options_.rank + ranks - 1) / ranks;
  }
  return 0;
}

void DistributedSampler::order_epoch() {
  if (options_.shuffle) {
    order_ = torch_randperm(options_.size, options_.seed + static_cast<std::uint64_t>(epoch_));
  } else if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(options_.size));
    std::iota(order_.begin(), order_.end(), 0);
  }
}

std::vector<std::int64_t> torch_randperm(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 generator(static_cast<std::uint32_t>(seed));  // torch keeps the low 32 bits too
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    std::swap(order[i], order[i + generator() % (order.size() - i)]);
  return order;
}

}  // namespace muster::worker
