// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/lobby.hpp"

namespace muster::net {

std::optional<Lobby::Key> Lobby::enter(Key key, std::string const& address, TimePoint now) {
  std::optional<Key> leaver;
  if (!address.empty()) {
    auto& neighbours = by_address_[address];
    if (neighbours.size() >= rules_.from_one_address) leaver = *neighbours.begin();
    neighbours.insert(key);
  }
  if (!leaver && waiting_.size() >= rules_.in_all) leaver = waiting_.begin()->first;
  waiting_.emplace(key, Entry{address, now + rules_.patience});
  return leaver;
}

void Lobby::leave(Key key) {
  auto const found = waiting_.find(key);
  if (found == waiting_.end()) return;
  auto const neighbours = by_address_.find(found->second.address);
  if (neighbours != by_address_.end()) {
    neighbours->second.erase(key);
    if (neighbours->second.empty()) by_address_.erase(neighbours);
  }
  waiting_.erase(found);
}

std::vector<Lobby::Key> Lobby::overdue(TimePoint now) const {
  std::vector<Key> late;
  for (auto const& [key, entry] : waiting_) {  // all wait equally long: in the order of arrival
    if (entry.due > now) break;
    late.push_back(key);
  }
  return late;
}

std::optional<TimePoint> Lobby::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.due;
}

}  // namespace muster::net
