// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much of a server's memory requests that are not whole yet may hold together. Beyond it large
// ones are not read on until others are done, but for the one that began first, so that something
// always moves; while others wait for it, it has to move at some speed. Knows no socket, no clock.

#include "rendezvous/base/clock.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace muster::net {

struct BudgetRules {
  std::size_t in_all = 256u << 20;
  std::size_t small = 64u << 10;  // never waits: so much a connection is bounded by their number
  Duration patience = std::chrono::seconds{10};  // and beyond it
  std::size_t bytes_per_second = 1u << 20;
};

class RequestBudget {
 public:
  using Key = std::uint64_t;

  explicit RequestBudget(BudgetRules rules) : rules_(rules) {}

  // The incomplete request of `key` now holds so many bytes. False: it is not to be read on until
  // resumed() names it.
  bool grow(Key key, std::size_t bytes, TimePoint now);
  // It is whole, or its client is gone.
  void release(Key key);
  // Who may be read on from now; each once. Their time begins anew.
  std::vector<Key> resumed(TimePoint now);

  std::size_t total() const { return total_; }
  std::size_t waiting() const { return waiting_.size(); }
  // Those for whom others wait and who are too slow.
  std::vector<Key> overdue(TimePoint now) const;
  std::optional<TimePoint> next_due() const;

 private:
  struct Request {
    std::uint64_t order = 0;  // of its beginning
    std::size_t bytes = 0;
    TimePoint began;
  };
  bool may_grow(Request const& request) const;
  TimePoint due(Request const& request) const;

  BudgetRules rules_;
  std::map<Key, Request> requests_;
  std::map<std::uint64_t, Key> order_;
  std::set<Key> waiting_;
  std::uint64_t last_order_ = 0;
  std::size_t total_ = 0;
};

}  // namespace muster::net
