// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/moved_jobs.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;

namespace {

membership::HostIs host(std::uint64_t epoch, std::string name) {
  membership::HostIs is;
  is.generation = Generation{1};
  is.epoch = Epoch{epoch};
  is.host.host = std::move(name);
  return is;
}

}  // namespace

TEST_CASE("a host is believed to have a job as long as it says so", "[net]") {
  MovedJobs moved;
  TimePoint const start{};
  CHECK_FALSE(moved.find("a", start));
  moved.note("a", host(2, "x"), start);
  CHECK(moved.find("a", start + kMovedFor / 2)->host.host == "x");
  CHECK_FALSE(moved.find("b", start));
  moved.note("a", host(2, "x"), start + kMovedFor / 2);
  CHECK(moved.find("a", start + kMovedFor)->host.host == "x");
  CHECK_FALSE(moved.find("a", start + 2 * kMovedFor));
}

TEST_CASE("the host of the later reign is the one that counts", "[net]") {
  MovedJobs moved;
  moved.note("a", host(3, "x"), TimePoint{});
  moved.note("a", host(2, "old"), TimePoint{});
  CHECK(moved.find("a", TimePoint{})->host.host == "x");
  moved.note("a", host(4, "y"), TimePoint{});
  CHECK(moved.find("a", TimePoint{})->host.host == "y");
}
