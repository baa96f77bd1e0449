// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/tcp_group.hpp"

#include "rendezvous/base/now.hpp"
#include "tests/unit/comm/tcp_world.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace muster::worker;
using namespace muster::worker::cases;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> const kNoFailure;

bool mentions(Result<void> const& result, std::string const& text) {
  return !result && result.error().what.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("tcp: reductions have the bits of the tree for worlds of 2 to 9", "[tcp]") {
  auto const size = GENERATE(range(2, 10));
  TcpWorld const world(size);
  INFO("world " << size << " " << world.why());
  REQUIRE(static_cast<int>(world.groups().size()) == size);
  CHECK(check_reductions(world.groups(), 3) == kNoFailure);
}

TEST_CASE("tcp: broadcast and all_gather move every byte, even and uneven", "[tcp]") {
  auto const size = GENERATE(2, 3, 4, 7, 8);
  TcpWorld const world(size);
  INFO("world " << size << " " << world.why());
  CHECK(check_moves(world.groups(), 4) == kNoFailure);
}

TEST_CASE("tcp: queued and coalesced operations run in order, barriers hold", "[tcp]") {
  auto const size = GENERATE(2, 5);
  TcpWorld const world(size);
  CHECK(check_queue(world.groups()) == kNoFailure);
}

TEST_CASE("tcp: a split orders its parts by key and then by rank", "[tcp]") {
  auto const size = GENERATE(2, 3, 6);
  TcpWorld const world(size);
  CHECK(check_split(world.groups()) == kNoFailure);
}

TEST_CASE("tcp: a vector of many pieces is reduced, gathered and broadcast right", "[tcp]") {
  auto const size = GENERATE(2, 3, 4);
  TcpWorld const world(size);
  constexpr std::int64_t kCount = 3'000'001;
  auto const results = on_all_ranks(world.groups(), [&](ProcessGroup& group, int rank) {
    std::vector<Tensor> inputs;
    for (int other = 0; other < size; ++other)
      inputs.push_back(random_tensor(kCount, DType::f32, 100 + static_cast<std::uint64_t>(other)));
    auto const mine = inputs[static_cast<std::size_t>(rank)].clone();
    if (auto reduced = all_reduce(group, mine).wait(); !reduced) return reduced;
    if (!same_bits(mine, tree_sum(inputs)))
      return Result<void>(Error{Errc::internal, "all_reduce differs", {}});
    auto const from_last = inputs[static_cast<std::size_t>(rank)].clone();
    if (auto moved = broadcast(group, from_last, size - 1).wait(); !moved) return moved;
    if (!same_bits(from_last, inputs.back()))
      return Result<void>(Error{Errc::internal, "broadcast differs", {}});
    return ok();
  });
  for (auto const& result : results) {
    INFO((result ? std::string() : to_string(result.error())));
    CHECK(result.has_value());
  }
}

TEST_CASE("tcp: a mismatch names both sides instead of hanging", "[tcp]") {
  TcpWorld const world(2);
  auto const results = on_all_ranks(world.groups(), [](ProcessGroup& group, int rank) {
    CallOptions options;
    options.site = "bucket 3";
    if (rank == 0) return all_reduce(group, Tensor::zeros(Shape{5}), options).wait();
    return broadcast(group, Tensor::zeros(Shape{6}, DType::i64), 1, options).wait();
  });
  // The broadcasting side has nothing to receive, so it may have ended before the other saw it.
  REQUIRE(!results[0]);
  CHECK(results[0].error().code == Errc::mismatch);
  CHECK(mentions(results[0], "broadcast of 6 x I64 from rank 1"));
  CHECK(mentions(results[0], "all_reduce sum of 5 x F32 (bucket 3)"));
  auto const after = barrier(*world.groups()[1]).wait();
  REQUIRE(!after);
  CHECK(after.error().code == Errc::mismatch);
}

TEST_CASE("tcp: different sizes are a mismatch on both sides", "[tcp]") {
  TcpWorld const world(3);
  auto const results = on_all_ranks(world.groups(), [](ProcessGroup& group, int rank) {
    return all_reduce(group, Tensor::zeros(Shape{rank == 1 ? 5 : 6})).wait();
  });
  for (auto const& result : results) {
    REQUIRE(!result);
    CHECK(result.error().code == Errc::mismatch);
  }
}

TEST_CASE("tcp: a deadline names the ranks that are waited for", "[tcp]") {
  TcpWorld const world(3);
  auto const groups = world.groups();
  CallOptions options;
  options.deadline = deadline_in(50ms);
  auto const result = all_reduce(*groups[0], Tensor::zeros(Shape{4}), options).wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::timeout);
  CHECK(mentions(result, "rank 1 ("));
  CHECK(mentions(result, "rank 2 ("));
  // The others hear of it without waiting for deadlines of their own.
  auto const other = barrier(*groups[2]).wait();
  REQUIRE(!other);
  CHECK(other.error().code == Errc::timeout);
  CHECK(mentions(other, "on rank 0, which waits for rank 1"));
}

TEST_CASE("tcp: the deadline of a queued operation holds while another one is waited for",
          "[tcp]") {
  TcpWorld const world(2);
  auto const groups = world.groups();
  auto const first = barrier(*groups[0]);
  CallOptions options;
  options.deadline = deadline_in(50ms);
  options.site = "second";
  auto const second = barrier(*groups[0], options);
  auto const result = second.wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::timeout);
  CHECK(mentions(result, "barrier (second) did not begin by its deadline"));
  CHECK(!first.wait());
}

TEST_CASE("tcp: many threads may wait for many operations", "[tcp]") {
  TcpWorld const world(2);
  auto const results = on_all_ranks(world.groups(), [](ProcessGroup& group, int) -> Result<void> {
    std::vector<Tensor> tensors;
    std::vector<Work> works;
    for (int i = 0; i < 40; ++i) {
      tensors.push_back(random_tensor(1'000, DType::f32, 1));
      works.push_back(all_reduce(group, tensors.back()));
    }
    std::vector<std::thread> waiters;
    std::vector<Result<void>> seen(works.size());
    for (std::size_t i = 0; i < works.size(); ++i)
      waiters.emplace_back(
          [&, i] { seen[works.size() - 1 - i] = works[works.size() - 1 - i].wait(); });
    for (auto& waiter : waiters) waiter.join();
    for (auto const& result : seen) MUSTER_CHECK(Result<void>(result));
    return ok();
  });
  for (auto const& result : results) CHECK(result.has_value());
}

TEST_CASE("tcp: abort from another thread ends operations on all ranks", "[tcp]") {
  TcpWorld const world(3);
  auto const groups = world.groups();
  auto const own = barrier(*groups[1]);
  auto const far = barrier(*groups[2]);
  std::thread([&] { groups[1]->abort(Reason{Error{Errc::non_finite, "loss is NaN", {}}}); }).join();
  CHECK(own.wait().error().code == Errc::non_finite);
  auto const result = far.wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::peer_lost);
  CHECK(mentions(result, "gave up: loss is NaN"));
  CHECK(!barrier(*groups[0]).wait());
  CHECK(barrier(*groups[1]).wait().error().code == Errc::non_finite);
}

TEST_CASE("tcp: a rank that leaves is lost to those who wait for it", "[tcp]") {
  TcpWorld world(3);
  world.leave(2);
  auto const results = on_all_ranks(world.groups(), [](ProcessGroup& group, int) {
    return all_reduce(group, Tensor::zeros(Shape{3})).wait();
  });
  for (auto const& result : results) {
    REQUIRE(!result);
    CHECK(result.error().code == Errc::peer_lost);
    CHECK(mentions(result, "rank 2"));
    CHECK(mentions(result, "it left the group"));
  }
}

TEST_CASE("tcp: ranks that leave right after their last operation disturb nobody", "[tcp]") {
  for (int round = 0; round < 10; ++round) {
    TcpWorld world(5);
    std::vector<Result<void>> results(5);
    std::vector<std::thread> ranks;
    auto groups = world.groups();
    for (std::size_t rank = 0; rank < 5; ++rank)
      ranks.emplace_back([&, rank] {
        results[rank] = all_reduce(*groups[rank], Tensor::zeros(Shape{50'000})).wait();
        if (results[rank])
          results[rank] = broadcast(*groups[rank], Tensor::zeros(Shape{9}), 3).wait();
        groups[rank].reset();
        world.leave(static_cast<int>(rank));
      });
    for (auto& rank : ranks) rank.join();
    for (auto const& result : results) {
      INFO((result ? std::string() : to_string(result.error())));
      CHECK(result.has_value());
    }
  }
}

TEST_CASE("tcp: a group destroyed with operations in flight cancels them", "[tcp]") {
  TcpWorld world(2);
  Work work;
  {
    auto groups = world.groups();
    work = all_reduce(*groups[0], Tensor::zeros(Shape{3}));
  }
  world.leave(0);
  auto const result = work.wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::canceled);
}

TEST_CASE("tcp: two worlds train at once in one process", "[tcp]") {
  TcpWorld const first(2), second(3);
  std::vector<std::string> failures;
  std::thread other([&] { failures = check_reductions(second.groups(), 5); });
  CHECK(check_reductions(first.groups(), 6) == kNoFailure);
  other.join();
  CHECK(failures == kNoFailure);
}
