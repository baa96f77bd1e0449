// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/request_budget.hpp"

#include <algorithm>

namespace muster::net {

bool RequestBudget::may_grow(Request const& request) const {
  return total_ <= rules_.in_all || request.order == order_.begin()->first;
}

bool RequestBudget::grow(Key key, std::size_t bytes, TimePoint now) {
  auto const found = requests_.find(key);
  if (bytes <= rules_.small && found == requests_.end()) return true;
  auto& request = found == requests_.end() ? requests_[key] : found->second;
  if (found == requests_.end()) {
    request.order = ++last_order_;
    request.began = now;
    order_.emplace(request.order, key);
  }
  total_ += bytes - request.bytes;
  request.bytes = bytes;
  if (may_grow(request)) return true;
  waiting_.insert(key);
  return false;
}

void RequestBudget::release(Key key) {
  auto const found = requests_.find(key);
  if (found == requests_.end()) return;
  total_ -= found->second.bytes;
  order_.erase(found->second.order);
  waiting_.erase(key);
  requests_.erase(found);
}

std::vector<RequestBudget::Key> RequestBudget::resumed(TimePoint now) {
  std::vector<Key> ready;
  for (auto const key : waiting_)
    if (may_grow(requests_.at(key))) ready.push_back(key);
  for (auto const key : ready) {
    waiting_.erase(key);
    requests_.at(key).began = now;
  }
  return ready;
}

TimePoint RequestBudget::due(Request const& request) const {
  auto const seconds = request.bytes / std::max<std::size_t>(rules_.bytes_per_second, 1);
  return request.began + rules_.patience + std::chrono::seconds{seconds};
}

std::vector<RequestBudget::Key> RequestBudget::overdue(TimePoint now) const {
  std::vector<Key> slow;
  if (waiting_.empty()) return slow;
  for (auto const& [key, request] : requests_)
    if (!waiting_.contains(key) && due(request) <= now) slow.push_back(key);
  return slow;
}

std::optional<TimePoint> RequestBudget::next_due() const {
  std::optional<TimePoint> next;
  if (waiting_.empty()) return next;
  for (auto const& [key, request] : requests_)
    if (!waiting_.contains(key)) next = std::min(next.value_or(TimePoint::max()), due(request));
  return next;
}

}  // namespace muster::net
