// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/loader.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>

namespace muster::worker {
namespace {

DistributedSampler sampler(std::int64_t size) {
  auto made = DistributedSampler::make({size, 1, 0, 3});
  REQUIRE(made);
  return *std::move(made);
}

Result<Batch> echo(std::span<std::int64_t const> rows) {
  return Batch{
      Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(rows.size())}, rows), {}, {}, 0};
}

std::vector<std::int64_t> inputs_of(Batch const& batch) {
  auto const values = batch.inputs.as<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("batches come in the sampler's order, whatever the number of threads", "[data]") {
  auto const threads = GENERATE(1, 4);
  auto expected = sampler(103);
  Loader loader(sampler(103), echo, {10, threads, 3});
  for (int i = 0; i < 35; ++i) {  // three epochs and more
    auto const draw = expected.next(10);
    auto const batch = loader.next();
    REQUIRE(batch);
    REQUIRE(batch->has_value() == !draw.rows.empty());
    CHECK(loader.state() == expected.state());
    if (!*batch) continue;
    CHECK((*batch)->rows == draw.rows);
    CHECK(inputs_of(**batch) == draw.rows);
  }
}

TEST_CASE("no more batches are fetched ahead than allowed", "[data]") {
  std::atomic<int> fetched{0};
  auto const count = [&](std::span<std::int64_t const> rows) {
    ++fetched;
    return echo(rows);
  };
  Loader loader(sampler(1000), count, {10, 3, 2});
  for (int i = 1; i <= 20; ++i) {
    REQUIRE(loader.next());
    CHECK(fetched <= i + 2);
  }
}

TEST_CASE("an error reaches the loop in the place of its batch, and stays", "[data]") {
  auto const threads = GENERATE(1, 3);
  std::atomic<int> calls{0};
  auto const fails = [&](std::span<std::int64_t const> rows) -> Result<Batch> {
    if (rows.front() == 4) return Error{Errc::corrupt, "sample 4 is damaged", ""};
    ++calls;
    return echo(rows);
  };
  auto unshuffled = DistributedSampler::make({100, 1, 0, 0, false});
  REQUIRE(unshuffled);
  Loader loader(*std::move(unshuffled), fails, {2, threads, 8});
  CHECK(loader.next());
  CHECK(loader.next());
  auto const before = loader.state();
  for (int i = 0; i < 3; ++i) {
    auto const failed = loader.next();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().what == "sample 4 is damaged");
  }
  CHECK(loader.state() == before);
}

TEST_CASE("a fetch that throws is an error, not the end of the process", "[data]") {
  auto const throws = [](std::span<std::int64_t const>) -> Result<Batch> {
    throw std::runtime_error("disk on fire");
  };
  Loader loader(sampler(10), throws, {2, 2, 2});
  auto const failed = loader.next();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what.find("disk on fire") != std::string::npos);
}

TEST_CASE("a rank whose part of a step is empty gets an empty batch, and the epoch goes on",
          "[data]") {
  auto last = DistributedSampler::make({10, 4, 3});  // steps of 3 of 4 ranks never reach it
  REQUIRE(last);
  Loader loader(*std::move(last), echo, {.batch = 3, .together = true});
  for (int step = 0; step < 4; ++step) {
    auto const batch = loader.next();
    REQUIRE(batch);
    REQUIRE(batch->has_value());
    CHECK((*batch)->rows.empty());
  }
  auto const over = loader.next();
  REQUIRE(over);
  CHECK_FALSE(over->has_value());
}

TEST_CASE("a loader may be left at any point of an epoch", "[data]") {
  auto const taken = GENERATE(0, 1, 5);
  Loader loader(sampler(100), echo, {7, 3, 2});
  for (int i = 0; i < taken; ++i) CHECK(loader.next());
}

TEST_CASE("a resumed loader goes on behind the last batch handed out", "[data]") {
  Loader whole(sampler(50), echo, {8, 2, 4});
  SamplerState state;
  {
    Loader stopped(sampler(50), echo, {8, 2, 4});
    for (int i = 0; i < 9; ++i) {
      REQUIRE(stopped.next());
      REQUIRE(whole.next());
    }
    state = stopped.state();
  }
  auto again = sampler(50);
  REQUIRE(again.resume(state));
  Loader resumed(std::move(again), echo, {8, 2, 4});
  for (int i = 0; i < 20; ++i) {
    auto const left = resumed.next(), right = whole.next();
    REQUIRE(left);
    REQUIRE(right);
    REQUIRE(left->has_value() == right->has_value());
    if (*left) CHECK((*left)->rows == (*right)->rows);
  }
}

}  // namespace muster::worker
