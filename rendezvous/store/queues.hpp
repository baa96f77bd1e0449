// SPDX-License-Identifier: Apache-2.0
#pragma once
// Named queues of values, beside the keys: a name may be a key, a queue, or both. An empty queue
// does not exist. Pure.

#include "rendezvous/store/counters.hpp"
#include "rendezvous/store/text_map.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace muster::store {

class Queues {
 public:
  explicit Queues(Counters& counters) : counters_(counters) {}

  void push(std::string_view name, std::string_view value);
  std::optional<std::string> pop(std::string_view name);
  std::int64_t length(std::string_view name) const;
  std::size_t count() const { return queues_.size(); }

 private:
  Counters& counters_;
  TextMap<std::deque<std::string>> queues_;
};

}  // namespace muster::store
