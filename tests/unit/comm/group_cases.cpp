// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/comm/group_cases.hpp"

#include "rendezvous/base/random.hpp"
#include "worker_runtime/collectives/kernels.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

namespace muster::worker::cases {
namespace {

class Failures {
 public:
  void add(std::string text) {
    std::lock_guard const lock(mutex_);
    texts_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

std::uint64_t seed_of(std::uint64_t seed, int rank, std::size_t step) {
  return seed * 1'000'003 + static_cast<std::uint64_t>(rank) * 1'009 + step;
}

std::vector<std::int64_t> sizes(int world, std::uint64_t seed) {
  Random random(seed);
  return {0,
          1,
          world - 1,
          1'000 + static_cast<std::int64_t>(random.below(3'000)),
          40'000 + static_cast<std::int64_t>(random.below(60'000)),
          200'000 + static_cast<std::int64_t>(random.below(100'000))};
}

std::vector<Tensor> inputs_of_all(int world, std::int64_t count, DType dtype, std::uint64_t seed,
                                  std::size_t step) {
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < world; ++rank)
    inputs.push_back(random_tensor(count, dtype, seed_of(seed, rank, step)));
  return inputs;
}

std::vector<std::int64_t> uneven(int world, std::int64_t scale) {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < world; ++rank) counts.push_back((rank * 7 + 2) % 4 * scale);
  return counts;
}

std::int64_t total_of(std::vector<std::int64_t> const& counts) {
  std::int64_t total = 0;
  for (auto const count : counts) total += count;
  return total;
}

std::int64_t begin_of(std::vector<std::int64_t> const& counts, int rank) {
  std::int64_t begin = 0;
  for (int i = 0; i < rank; ++i) begin += counts[static_cast<std::size_t>(i)];
  return begin;
}

void finish(std::vector<Result<void>> const& results, Failures& failures) {
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    if (!results[rank])
      failures.add("rank " + std::to_string(rank) + ": " + to_string(results[rank].error()));
}

Result<void> reduce_all_dtypes(ProcessGroup& group, int rank, std::uint64_t seed,
                               Failures& failures) {
  auto const world = group.shape().size;
  std::size_t step = 0;
  for (auto const count : sizes(world, seed))
    for (auto const dtype : {DType::f32, DType::f64, DType::i64, DType::i32})
      for (auto const op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
        if (dtype != DType::f32 && count > 10'000) continue;
        auto const inputs = inputs_of_all(world, count, dtype, seed, ++step);
        auto const mine = inputs[static_cast<std::size_t>(rank)].clone();
        CallOptions options;
        options.op = op;
        MUSTER_CHECK(all_reduce(group, mine, options).wait());
        if (!same_bits(mine, tree_reduced(inputs, op)))
          failures.add("rank " + std::to_string(rank) + ": all_reduce " + std::string(name_of(op)) +
                       " of " + std::to_string(count) + " " + std::string(name_of(dtype)) +
                       " differs from the tree");
      }
  return ok();
}

Result<void> scatter_uneven(ProcessGroup& group, int rank, std::uint64_t seed, Failures& failures) {
  auto const world = group.shape().size;
  for (std::int64_t const scale : {0, 1, 700, 70'000}) {
    CallOptions options;
    options.counts = uneven(world, scale);
    options.factor = 1.0 / 3;
    auto const total = total_of(options.counts);
    auto const inputs =
        inputs_of_all(world, total, DType::f32, seed, static_cast<std::size_t>(scale));
    auto expected = tree_reduced(inputs);
    scale == 0 ? void()
               : worker::scale(DType::f32, expected.data(), options.factor,
                               static_cast<std::size_t>(total));
    auto const count = options.counts[static_cast<std::size_t>(rank)];
    auto const slice = expected.flat(begin_of(options.counts, rank), count);
    auto const out = Tensor::zeros(Shape{count});
    auto const& in = inputs[static_cast<std::size_t>(rank)];
    auto const before = in.clone();
    MUSTER_CHECK(reduce_scatter(group, in, out, options).wait());
    if (!same_bits(out, slice) || !same_bits(in, before))
      failures.add("rank " + std::to_string(rank) + ": reduce_scatter of scale " +
                   std::to_string(scale) + " is wrong");
    // In place: out is this rank's slice of in.
    auto const own = in.flat(begin_of(options.counts, rank), count);
    MUSTER_CHECK(reduce_scatter(group, in, own, options).wait());
    if (!same_bits(own, slice))
      failures.add("rank " + std::to_string(rank) + ": reduce_scatter in place is wrong");
  }
  return ok();
}

Result<void> gather_uneven(ProcessGroup& group, int rank, std::uint64_t seed, Failures& failures) {
  auto const world = group.shape().size;
  for (auto const dtype : {DType::u8, DType::f32, DType::i64})
    for (std::int64_t const scale : {0, 1, 70'001}) {
      CallOptions options;
      options.counts = uneven(world, scale);
      auto const total = total_of(options.counts);
      auto const expected = Tensor::zeros(Shape{total}, dtype);
      for (int from = 0; from < world; ++from) {
        auto const count = options.counts[static_cast<std::size_t>(from)];
        auto const part = random_tensor(count, dtype, seed_of(seed, from, 5));
        if (count > 0)
          std::memcpy(expected.flat(begin_of(options.counts, from), count).data(), part.data(),
                      part.bytes());
      }
      auto const in = random_tensor(options.counts[static_cast<std::size_t>(rank)], dtype,
                                    seed_of(seed, rank, 5));
      auto const out = Tensor::zeros(Shape{total}, dtype);
      MUSTER_CHECK(all_gather(group, in, out, options).wait());
      if (!same_bits(out, expected))
        failures.add("rank " + std::to_string(rank) + ": all_gather of scale " +
                     std::to_string(scale) + " is wrong");
    }
  return ok();
}

Result<void> broadcast_from_all(ProcessGroup& group, int rank, std::uint64_t seed,
                                Failures& failures) {
  auto const world = group.shape().size;
  for (int root = 0; root < world; ++root)
    for (std::int64_t const count : {0, 1, 5'000, 700'001}) {
      auto const tensor = random_tensor(count, DType::u8, seed_of(seed, rank, 9));
      MUSTER_CHECK(broadcast(group, tensor, root).wait());
      if (!same_bits(tensor, random_tensor(count, DType::u8, seed_of(seed, root, 9))))
        failures.add("rank " + std::to_string(rank) + ": broadcast from " + std::to_string(root) +
                     " is wrong");
    }
  return ok();
}

Result<void> queue_many(ProcessGroup& group, int rank, std::atomic<int>& in_barrier,
                        Failures& failures) {
  auto const world = group.shape().size;
  // Operations on one tensor, none waited for, run in order.
  auto const tensor = Tensor::zeros(Shape{1'000});
  for (auto& value : tensor.as<float>()) value = 1.0F;
  Work last;
  std::atomic<int> called{0};
  for (int i = 0; i < 3; ++i) {
    last = all_reduce(group, tensor);
    last.then([&](Result<void> const& result) { called += result ? 1 : 100; });
  }
  MUSTER_CHECK(last.wait());
  auto const expected = static_cast<float>(world * world * world);
  if (tensor.as<float>()[999] != expected || called != 3)
    failures.add("rank " + std::to_string(rank) + ": queued operations did not run in order");
  // One Work for a span of operations.
  std::vector<Collective> several(2);
  several[0].kind = several[1].kind = OpKind::all_reduce;
  several[0].in = several[0].out = tensor.flat(0, 10);
  several[1].in = several[1].out = tensor.flat(10, 10);
  several[1].factor = 0.5;
  MUSTER_CHECK(group.submit(several).wait());
  if (tensor.as<float>()[0] != expected * static_cast<float>(world) ||
      tensor.as<float>()[10] != expected * static_cast<float>(world) * 0.5F)
    failures.add("rank " + std::to_string(rank) + ": a coalesced operation is wrong");
  ++in_barrier;
  MUSTER_CHECK(barrier(group).wait());
  if (in_barrier != world)
    failures.add("rank " + std::to_string(rank) + ": left the barrier before all had come");
  return barrier(group).wait();
}

Result<void> split_in_two(ProcessGroup& group, int rank, Failures& failures) {
  auto const world = group.shape().size;
  // Odd ranks against even ones, in reverse order; the last rank stays out.
  auto const outside = rank == world - 1;
  MUSTER_TRY(auto const part, group.split(outside ? -1 : rank % 2, -rank));
  if (outside != (part == nullptr)) failures.add("a negative color gets no group, others do");
  if (outside) return barrier(group).wait();
  int members = 0, before = 0;
  float sum = 0;
  for (int other = 0; other < world - 1; ++other)
    if (other % 2 == rank % 2) {
      ++members;
      before += other > rank ? 1 : 0;
      sum += static_cast<float>(other);
    }
  if (part->shape().size != members || part->shape().rank != before)
    failures.add("rank " + std::to_string(rank) + ": has the wrong place in its part");
  auto const value = Tensor::zeros(Shape{1});
  value.as<float>()[0] = static_cast<float>(rank);
  MUSTER_CHECK(all_reduce(*part, value).wait());
  if (value.as<float>()[0] != sum)
    failures.add("rank " + std::to_string(rank) + ": the part's sum is wrong");
  MUSTER_CHECK(barrier(*part).wait());
  return barrier(group).wait();
}

}  // namespace

std::vector<Result<void>> on_all_ranks(
    Groups const& groups, std::function<Result<void>(ProcessGroup&, int rank)> const& body) {
  std::vector<Result<void>> results(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    threads.emplace_back(
        [&, rank] { results[rank] = body(*groups[rank], static_cast<int>(rank)); });
  for (auto& thread : threads) thread.join();
  return results;
}

std::vector<std::string> check_reductions(Groups const& groups, std::uint64_t seed) {
  Failures failures;
  finish(on_all_ranks(groups,
                      [&](ProcessGroup& group, int rank) -> Result<void> {
                        MUSTER_CHECK(reduce_all_dtypes(group, rank, seed, failures));
                        return scatter_uneven(group, rank, seed, failures);
                      }),
         failures);
  return failures.take();
}

std::vector<std::string> check_moves(Groups const& groups, std::uint64_t seed) {
  Failures failures;
  finish(on_all_ranks(groups,
                      [&](ProcessGroup& group, int rank) -> Result<void> {
                        MUSTER_CHECK(gather_uneven(group, rank, seed, failures));
                        return broadcast_from_all(group, rank, seed, failures);
                      }),
         failures);
  return failures.take();
}

std::vector<std::string> check_queue(Groups const& groups) {
  Failures failures;
  std::atomic<int> in_barrier{0};
  finish(
      on_all_ranks(groups, [&](ProcessGroup& group,
                               int rank) { return queue_many(group, rank, in_barrier, failures); }),
      failures);
  return failures.take();
}

std::vector<std::string> check_split(Groups const& groups) {
  Failures failures;
  finish(on_all_ranks(groups, [&](ProcessGroup& group,
                                  int rank) { return split_in_two(group, rank, failures); }),
         failures);
  return failures.take();
}

Tensor tree_sum(std::vector<Tensor> const& parts) {
  return tree_reduced(parts);
}

Tensor random_tensor(std::int64_t count, DType dtype, std::uint64_t seed) {
  Random random(seed);
  auto const tensor = Tensor::zeros(Shape{count}, dtype);
  switch (dtype) {
    case DType::f32:
      for (auto& value : tensor.as<float>())
        value = static_cast<float>(std::ldexp(random.unit() - 0.5, int(random.below(20))));
      break;
    case DType::f64:
      for (auto& value : tensor.as<double>())
        value = std::ldexp(random.unit() - 0.5, int(random.below(40)));
      break;
    case DType::i64:
      for (auto& value : tensor.as<std::int64_t>())
        value = static_cast<std::int64_t>(random.next());
      break;
    case DType::i32:
      for (auto& value : tensor.as<std::int32_t>())
        value = static_cast<std::int32_t>(random.next());
      break;
    case DType::u8:
      for (auto& value : tensor.as<std::uint8_t>())
        value = static_cast<std::uint8_t>(random.next());
      break;
  }
  return tensor;
}

bool same_bits(Tensor const& a, Tensor const& b) {
  return a.dtype == b.dtype && a.elements() == b.elements() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace muster::worker::cases
