// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/threads_group.hpp"

#include "rendezvous/base/now.hpp"
#include "tests/unit/comm/group_cases.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace muster::worker;
using namespace muster::worker::cases;
using namespace std::chrono_literals;

namespace {

Groups threads_of(int size) {
  return make_threads_groups(size, 60s, "threads");
}

std::vector<std::string> const kNoFailure;

}  // namespace

TEST_CASE("threads: reductions have the bits of the tree for worlds of 1 to 9", "[threads]") {
  auto const size = GENERATE(range(1, 10));
  INFO("world " << size);
  CHECK(check_reductions(threads_of(size), 3) == kNoFailure);
}

TEST_CASE("threads: broadcast and all_gather move every byte, even and uneven", "[threads]") {
  auto const size = GENERATE(range(1, 10));
  INFO("world " << size);
  CHECK(check_moves(threads_of(size), 4) == kNoFailure);
}

TEST_CASE("threads: queued and coalesced operations run in order, barriers hold", "[threads]") {
  auto const size = GENERATE(1, 2, 5);
  INFO("world " << size);
  CHECK(check_queue(threads_of(size)) == kNoFailure);
}

TEST_CASE("threads: a split orders its parts by key and then by rank", "[threads]") {
  auto const size = GENERATE(1, 2, 3, 6);
  INFO("world " << size);
  CHECK(check_split(threads_of(size)) == kNoFailure);
}

TEST_CASE("threads: different operations at the same place are a mismatch that names both sides") {
  auto const results = on_all_ranks(threads_of(2), [](ProcessGroup& group, int rank) {
    CallOptions options;
    options.site = "bucket 3";
    return all_reduce(group, Tensor::zeros(Shape{rank == 0 ? 5 : 6}), options).wait();
  });
  for (auto const& result : results) {
    REQUIRE(!result);
    CHECK(result.error().code == Errc::mismatch);
    CHECK(result.error().what.find("5 x F32 (bucket 3)") != std::string::npos);
    CHECK(result.error().what.find("6 x F32 (bucket 3)") != std::string::npos);
  }
}

TEST_CASE("threads: a deadline names the ranks that did not come, and the group stays dead") {
  auto const groups = threads_of(3);
  CallOptions options;
  options.deadline = deadline_in(20ms);
  auto const result = barrier(*groups[1], options).wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::timeout);
  CHECK(result.error().what.find("rank 0, 2") != std::string::npos);
  CHECK(barrier(*groups[0]).wait().error().code == Errc::timeout);
}

TEST_CASE("threads: a rank that leaves is a lost peer to those who wait for it") {
  auto groups = threads_of(3);
  auto const work = barrier(*groups[0]);
  groups[2].reset();
  auto const result = work.wait();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::peer_lost);
  CHECK(result.error().what.find("rank 2") != std::string::npos);
}

TEST_CASE("threads: abort from another thread ends operations on all ranks") {
  auto const groups = threads_of(2);
  auto const work = barrier(*groups[0]);
  std::thread([&] { groups[1]->abort(Reason{Error{Errc::canceled, "enough", {}}}); }).join();
  CHECK(work.wait().error().code == Errc::canceled);
  CHECK(barrier(*groups[1]).wait().error().what == "enough");
}

TEST_CASE("threads: dropping a Work neither waits nor cancels") {
  auto const results = on_all_ranks(threads_of(2), [](ProcessGroup& group, int) -> Result<void> {
    auto const tensor = Tensor::of<float>(Shape{1}, std::vector<float>{1.0F});
    { auto const dropped = all_reduce(group, tensor); }
    MUSTER_CHECK(barrier(group).wait());
    return tensor.as<float>()[0] == 2.0F ? ok() : Result<void>(Error{Errc::internal, "lost", {}});
  });
  for (auto const& result : results) CHECK(result.has_value());
}
