// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/waiters.hpp"

#include "rendezvous/base/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace muster;
using namespace muster::store;

namespace {

// The obvious version: every wait as a list of keys still missing, in order of arrival.
struct PlainWaiters {
  struct Wait {
    ClientId client;
    std::vector<std::string> missing;
  };
  std::vector<Wait> waits;

  void park(ClientId client, std::vector<std::string_view> const& keys) {
    waits.push_back({client, {keys.begin(), keys.end()}});
  }
  void wake(std::string_view key, bool one, std::vector<ClientId>& woken) {
    // A wait that names the key twice is in its line twice, at the place where it arrived.
    for (std::size_t i = 0; i < waits.size();) {
      auto& missing = waits[i].missing;
      while (true) {
        auto const found = std::find(missing.begin(), missing.end(), key);
        if (found == missing.end()) break;
        missing.erase(found);
      }
      if (!missing.empty()) {
        ++i;
        continue;
      }
      woken.push_back(waits[i].client);
      waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
      if (one) return;
    }
  }
  std::size_t leave(ClientId client) {
    auto const before = waits.size();
    std::erase_if(waits, [&](Wait const& wait) { return wait.client == client; });
    return before - waits.size();
  }
};

}  // namespace

TEST_CASE("waiters agree with the obvious version over random histories", "[store]") {
  auto const seed = GENERATE(range(1, 200));
  INFO("seed " << seed);
  Random random(static_cast<std::uint64_t>(seed));
  Waiters waiters;
  PlainWaiters plain;
  std::vector<std::string> const names{"a", "b", "c", "d"};
  for (int step = 0; step < 200; ++step) {
    ClientId const client{random.below(5)};
    std::string const key = names[random.below(names.size())];
    std::vector<ClientId> woken, expected;
    switch (random.below(5)) {
      case 0:
      case 1: {
        std::set<std::string_view> keys{key};
        while (random.below(2) == 0) keys.insert(names[random.below(names.size())]);
        std::vector<std::string_view> const list(keys.begin(), keys.end());
        waiters.park(client, list);
        plain.park(client, list);
        break;
      }
      case 2:
        waiters.wake_all(key, woken);
        plain.wake(key, false, expected);
        break;
      case 3:
        waiters.wake_one(key, woken);
        plain.wake(key, true, expected);
        break;
      default:
        CHECK(waiters.leave(client) == plain.leave(client));
    }
    REQUIRE(woken == expected);
    REQUIRE(waiters.waits() == plain.waits.size());
  }
}

TEST_CASE("a key named twice in one wait needs to come only once", "[store]") {
  Waiters waiters;
  waiters.park(ClientId{1}, {"k", "k"});
  std::vector<ClientId> woken;
  waiters.wake_all("k", woken);
  CHECK(woken == std::vector<ClientId>{ClientId{1}});
  CHECK(waiters.keys_of(ClientId{1}) == 0);
}

TEST_CASE("who waits for what can be listed", "[store]") {
  Waiters waiters;
  waiters.park(ClientId{1}, {"k", "l"});
  waiters.park(ClientId{2}, {"k"});
  auto keys = waiters.waited_keys(10);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::pair<std::string, std::size_t>>{{"k", 2}, {"l", 1}});
  CHECK(waiters.waited_keys(1).size() == 1);
  waiters.leave(ClientId{1});
  waiters.leave(ClientId{2});
  CHECK(waiters.waited_keys(10).empty());
}

TEST_CASE("many waits of one client are woken in linear time", "[store]") {
  Waiters waiters;
  for (int i = 0; i < 100'000; ++i) waiters.park(ClientId{1}, {"k"});
  std::vector<ClientId> woken;
  waiters.wake_all("k", woken);
  CHECK(woken.size() == 100'000);
  CHECK(waiters.waits() == 0);
}
