// SPDX-License-Identifier: Apache-2.0
// Golden numbers: torch 2.13's DistributedSampler and randperm, recorded by
// tests/interop/sampler_torch.py --record.
#include "worker_runtime/data/sampler.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace muster::worker {
namespace {

using Rows = std::vector<std::int64_t>;

void mix(std::uint64_t& hash, std::uint64_t value) {  // FNV-1a over the value's 8 bytes
  for (int i = 0; i < 8; ++i) hash = (hash ^ ((value >> (8 * i)) & 0xFF)) * 0x100000001b3ULL;
}

std::uint64_t hash_of(Rows const& rows) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (auto const row : rows) mix(hash, static_cast<std::uint64_t>(row));
  return hash;
}

DistributedSampler sampler(std::int64_t size, int replicas, int rank, Tail tail = Tail::pad,
                           bool shuffle = true) {
  auto made = DistributedSampler::make({size, replicas, rank, 11, shuffle, tail});
  REQUIRE(made);
  return *std::move(made);
}

Rows draw_epoch(DistributedSampler& from, std::int64_t batch) {
  Rows rows;
  for (auto draw = from.next(batch); !draw.rows.empty(); draw = from.next(batch))
    rows.insert(rows.end(), draw.rows.begin(), draw.rows.end());
  return rows;
}

struct Golden {
  std::int64_t size;
  int replicas;
  bool shuffle, drop_last;
  std::uint64_t hash;  // all ranks in epochs 0, 1 and 5, each ended by 2^64 - 1
};

// clang-format off
constexpr Golden kGolden[] = {
    {1, 1, true, true, 0x295dbbcd6c622a4dULL},
    {1, 1, true, false, 0x295dbbcd6c622a4dULL},
    {1, 1, false, true, 0x295dbbcd6c622a4dULL},
    {1, 1, false, false, 0x295dbbcd6c622a4dULL},
    {1, 2, true, true, 0x2b9c2313be7ff4b5ULL},
    {1, 2, true, false, 0xe2ef327f85440975ULL},
    {1, 2, false, true, 0x2b9c2313be7ff4b5ULL},
    {1, 2, false, false, 0xe2ef327f85440975ULL},
    {1, 3, true, true, 0xf8e71ada7fcedafdULL},
    {1, 3, true, false, 0x3d691aff4a6c249dULL},
    {1, 3, false, true, 0xf8e71ada7fcedafdULL},
    {1, 3, false, false, 0x3d691aff4a6c249dULL},
    {1, 4, true, true, 0x959504620d9ca445ULL},
    {1, 4, true, false, 0x1eadc1901cf265c5ULL},
    {1, 4, false, true, 0x959504620d9ca445ULL},
    {1, 4, false, false, 0x1eadc1901cf265c5ULL},
    {2, 1, true, true, 0x4aa35d74cc027c6cULL},
    {2, 1, true, false, 0x4aa35d74cc027c6cULL},
    {2, 1, false, true, 0xc1c116a51674f68cULL},
    {2, 1, false, false, 0xc1c116a51674f68cULL},
    {2, 2, true, true, 0xc37362d66b933034ULL},
    {2, 2, true, false, 0xc37362d66b933034ULL},
    {2, 2, false, true, 0x9c759e7a23ce5ef4ULL},
    {2, 2, false, false, 0x9c759e7a23ce5ef4ULL},
    {2, 3, true, true, 0xf8e71ada7fcedafdULL},
    {2, 3, true, false, 0x3a2e22db9a8071dULL},
    {2, 3, false, true, 0xf8e71ada7fcedafdULL},
    {2, 3, false, false, 0xd6b35f13baff75cULL},
    {2, 4, true, true, 0x959504620d9ca445ULL},
    {2, 4, true, false, 0x71e8100fde547845ULL},
    {2, 4, false, true, 0x959504620d9ca445ULL},
    {2, 4, false, false, 0xc393bee26e951645ULL},
    {7, 1, true, true, 0xec3f67cc333fa88aULL},
    {7, 1, true, false, 0xec3f67cc333fa88aULL},
    {7, 1, false, true, 0x5764756d72d0d2aULL},
    {7, 1, false, false, 0x5764756d72d0d2aULL},
    {7, 2, true, true, 0xd037f25dc7a76a50ULL},
    {7, 2, true, false, 0x7ea5ec1f84bd9153ULL},
    {7, 2, false, true, 0x270d03466256b114ULL},
    {7, 2, false, false, 0x9564ae440e5816d2ULL},
    {7, 3, true, true, 0x4fabb51dd85bceb8ULL},
    {7, 3, true, false, 0xdbcb666f5b9da57aULL},
    {7, 3, false, true, 0x704d00d24c47665cULL},
    {7, 3, false, false, 0x7c4004efb44ad1dbULL},
    {7, 4, true, true, 0x4cde6647f3375742ULL},
    {7, 4, true, false, 0xed4dcfbcd8f10183ULL},
    {7, 4, false, true, 0x439c77b9e9ae5c5ULL},
    {7, 4, false, false, 0xf73eb59b90ed74e2ULL},
    {10, 1, true, true, 0x8a4bbff6a48fcaacULL},
    {10, 1, true, false, 0x8a4bbff6a48fcaacULL},
    {10, 1, false, true, 0x10a899307f22338cULL},
    {10, 1, false, false, 0x10a899307f22338cULL},
    {10, 2, true, true, 0xcf750f2a5e27524ULL},
    {10, 2, true, false, 0xcf750f2a5e27524ULL},
    {10, 2, false, true, 0x5b81c0217dd30564ULL},
    {10, 2, false, false, 0x5b81c0217dd30564ULL},
    {10, 3, true, true, 0xa95ca422b0a7dd04ULL},
    {10, 3, true, false, 0xa95dbfb6d327d804ULL},
    {10, 3, false, true, 0x370a7aa96a853cf5ULL},
    {10, 3, false, false, 0x4e5365239cfc9f3dULL},
    {10, 4, true, true, 0x93e98907493c15cfULL},
    {10, 4, true, false, 0x9ef962213ccf330cULL},
    {10, 4, false, true, 0xaa8a626ce0931d05ULL},
    {10, 4, false, false, 0x79ca53a92cc32f75ULL},
    {13, 1, true, true, 0xa30e28c56068ab61ULL},
    {13, 1, true, false, 0xa30e28c56068ab61ULL},
    {13, 1, false, true, 0x575daeeea28edbe1ULL},
    {13, 1, false, false, 0x575daeeea28edbe1ULL},
    {13, 2, true, true, 0xa3b41fc27fdb8699ULL},
    {13, 2, true, false, 0xee011851795f5faULL},
    {13, 2, false, true, 0x918870ddc64cf655ULL},
    {13, 2, false, false, 0xd9b63f72d28a0e9ULL},
    {13, 3, true, true, 0x4f37d86286cec271ULL},
    {13, 3, true, false, 0xc216a7526380e63dULL},
    {13, 3, false, true, 0xf77c6696d0c72a2dULL},
    {13, 3, false, false, 0x7ba603dc95a57700ULL},
    {13, 4, true, true, 0x6ba5b418644f5609ULL},
    {13, 4, true, false, 0xd06f844ed0bd08fcULL},
    {13, 4, false, true, 0x18339ec04b9e6d25ULL},
    {13, 4, false, false, 0x84a29c3c9e82643aULL},
};
// clang-format on

}  // namespace

TEST_CASE("permutations are torch.randperm's", "[data]") {
  CHECK(torch_randperm(10, 0) == Rows{4, 1, 7, 5, 3, 9, 0, 8, 6, 2});
  CHECK(torch_randperm(5, (1ULL << 32) + 5) == Rows{1, 3, 0, 4, 2});
  CHECK(hash_of(torch_randperm(60000, 0)) == 0xc7c1e74f57935fb9ULL);
  CHECK(hash_of(torch_randperm(60000, 7)) == 0xb34ab21dff2c1661ULL);
  CHECK(hash_of(torch_randperm(1000003, 123456)) == 0xf730207c73823257ULL);
  CHECK(torch_randperm(0, 1).empty());
  CHECK(torch_randperm(1, 1) == Rows{0});
}

TEST_CASE("ranks draw what torch's DistributedSampler gives them", "[data]") {
  for (auto const& golden : kGolden) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (int rank = 0; rank < golden.replicas; ++rank) {
      auto drawn = sampler(golden.size, golden.replicas, rank,
                           golden.drop_last ? Tail::drop : Tail::pad, golden.shuffle);
      for (auto const epoch : {0, 1, 5}) {
        drawn.set_epoch(epoch);
        for (auto const row : drawn.remaining()) mix(hash, static_cast<std::uint64_t>(row));
        mix(hash, ~0ULL);
      }
    }
    INFO(golden.size << " samples, " << golden.replicas << " ranks, shuffle " << golden.shuffle
                     << ", drop_last " << golden.drop_last);
    CHECK(hash == golden.hash);
  }
}

TEST_CASE("epochs advance by themselves, and each has an order of its own", "[data]") {
  auto plain = sampler(10, 3, 1);
  auto told = sampler(10, 3, 1);
  Rows last;
  for (int epoch = 0; epoch < 4; ++epoch) {
    told.set_epoch(epoch);
    CHECK(plain.epoch() == epoch);
    auto const rows = draw_epoch(plain, 3);
    CHECK(rows == told.remaining());
    CHECK(rows != last);
    last = rows;
  }
}

TEST_CASE("repeated samples are counted as padding", "[data]") {
  std::int64_t padding = 0;
  for (int rank = 0; rank < 3; ++rank) padding += sampler(10, 3, rank).next(100).padding;
  CHECK(padding == 2);
  CHECK(sampler(10, 2, 1).next(100).padding == 0);
}

TEST_CASE("exact mode gives every sample once, for any number of ranks", "[data]") {
  auto const ranks = GENERATE(1, 2, 3, 4, 7, 12);
  Rows all;
  for (int rank = 0; rank < ranks; ++rank) {
    auto const rows = sampler(10, ranks, rank, Tail::exact).remaining();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == Rows{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a resumed sampler goes on as if it had not stopped", "[data]") {
  auto const stop_after = GENERATE(0, 1, 2, 3, 4, 5, 6, 9);
  auto whole = sampler(23, 3, 2);
  auto stopped = sampler(23, 3, 2);
  for (int i = 0; i < stop_after; ++i) CHECK(stopped.next(2).rows == whole.next(2).rows);
  auto resumed = sampler(23, 3, 2);
  REQUIRE(resumed.resume(stopped.state()));
  for (int i = 0; i < 20; ++i) CHECK(resumed.next(2).rows == whole.next(2).rows);
}

TEST_CASE("another number of ranks sees the rest of the epoch exactly once", "[data]") {
  auto const ranks = GENERATE(1, 2, 3, 5);
  std::multiset<std::int64_t> seen;
  SamplerState state;
  for (int rank = 0; rank < 4; ++rank) {
    auto before = sampler(41, 4, rank);
    for (auto const row : before.next(6).rows) seen.insert(row);
    state = before.state();
  }
  CHECK(state.consumed == 24);
  for (int rank = 0; rank < ranks; ++rank) {
    auto after = sampler(41, ranks, rank, Tail::exact);
    REQUIRE(after.resume(state));
    for (auto const row : after.remaining()) seen.insert(row);
  }
  CHECK(seen.size() == 41);
  CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 41);
}

TEST_CASE("steps of a constant size take the same samples whatever the number of ranks", "[data]") {
  auto const size =
      GENERATE(41, 40, 3);  // a short last step, none, and one that is shorter than the world
  constexpr std::int64_t kStep = 8;
  auto alone = sampler(size, 1, 0);
  SamplerState state = alone.state();
  for (auto const ranks : {1, 4, 2, 3, 7, 12, 2}) {  // the world changes after each two steps
    std::vector<DistributedSampler> world;
    for (int rank = 0; rank < ranks; ++rank) {
      world.push_back(sampler(size, ranks, rank));
      REQUIRE(world.back().resume(state));
    }
    for (int step = 0; step < 2; ++step) {
      auto const expected = alone.next_together(kStep);
      std::multiset<std::int64_t> taken;
      for (auto& each : world) {
        auto const draw = each.next_together(kStep);
        CHECK(draw.over == expected.over);
        CHECK(draw.padding == 0);
        taken.insert(draw.rows.begin(), draw.rows.end());
        CHECK(each.state() == alone.state());
      }
      CHECK(taken == std::multiset<std::int64_t>(expected.rows.begin(), expected.rows.end()));
    }
    state = world[0].state();
  }
}

TEST_CASE("steps of all ranks together give every sample of an epoch once", "[data]") {
  auto drawn = sampler(41, 1, 0);
  Rows all;
  for (auto draw = drawn.next_together(8); !draw.over; draw = drawn.next_together(8))
    all.insert(all.end(), draw.rows.begin(), draw.rows.end());
  CHECK(all == sampler(41, 1, 0).remaining());
  CHECK(drawn.epoch() == 1);
}

TEST_CASE("a sampler refuses states of other data and impossible places", "[data]") {
  auto drawn = sampler(10, 1, 0);
  auto const refused = drawn.resume({11, 11, 0, 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("11 samples") != std::string::npos);
  CHECK_FALSE(drawn.resume({10, 12, 0, 0}));
  CHECK_FALSE(drawn.resume({10, 11, 0, 11}));
  CHECK_FALSE(drawn.resume({10, 11, -1, 0}));
  CHECK(drawn.resume({10, 11, 3, 10}));
  CHECK(drawn.next(4).rows.empty());
  CHECK(drawn.epoch() == 4);
}

TEST_CASE("senseless samplers are refused", "[data]") {
  CHECK_FALSE(DistributedSampler::make({0, 1, 0}));
  CHECK_FALSE(DistributedSampler::make({10, 0, 0}));
  CHECK_FALSE(DistributedSampler::make({10, 2, 2}));
  CHECK_FALSE(DistributedSampler::make({10, 2, -1}));
  CHECK_FALSE(DistributedSampler::make({kMaxPermuted, 1, 0}));
}

TEST_CASE("fewer samples than ranks: padded, dropped or uneven", "[data]") {
  CHECK(sampler(2, 4, 3).remaining().size() == 1);
  CHECK(sampler(2, 4, 3, Tail::drop).remaining().empty());
  CHECK(sampler(2, 4, 3, Tail::exact).remaining().empty());
  CHECK(sampler(2, 4, 1, Tail::exact).remaining().size() == 1);
}

}  // namespace muster::worker
