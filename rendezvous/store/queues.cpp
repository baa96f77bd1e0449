// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/queues.hpp"

namespace muster::store {

void Queues::push(std::string_view name, std::string_view value) {
  auto found = queues_.find(name);
  if (found == queues_.end())
    found = queues_.emplace(std::string(name), std::deque<std::string>{}).first;
  found->second.emplace_back(value);
  ++counters_.queued_values;
  counters_.queued_bytes += value.size();
}

std::optional<std::string> Queues::pop(std::string_view name) {
  auto const found = queues_.find(name);
  if (found == queues_.end()) return std::nullopt;
  std::string value = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  --counters_.queued_values;
  counters_.queued_bytes -= value.size();
  return value;
}

std::int64_t Queues::length(std::string_view name) const {
  auto const found = queues_.find(name);
  return found == queues_.end() ? 0 : static_cast<std::int64_t>(found->second.size());
}

}  // namespace muster::store
