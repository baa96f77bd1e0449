// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/waiters.hpp"

#include <utility>

namespace muster::store {

// A wait's place in the line of one key. Links of a wait lie in one array that never moves.
struct Waiters::Link {
  Wait* wait = nullptr;
  KeyLine* line = nullptr;  // null once its key has come
  Link* before = nullptr;
  Link* after = nullptr;
};

struct Waiters::KeyLine {
  std::string_view key;  // the map's own key
  Link* first = nullptr;
  Link* last = nullptr;
  std::size_t length = 0;
};

struct Waiters::Wait {
  ClientId client;
  std::size_t missing = 0;
  std::size_t index = 0;  // in its client's list
  std::vector<Link> links;
};

struct Waiters::ClientWaits {
  std::vector<std::unique_ptr<Wait>> waits;
  std::size_t keys = 0;
};

Waiters::Waiters() = default;
Waiters::~Waiters() = default;

void Waiters::park(ClientId client, std::vector<std::string_view> const& keys) {
  auto wait = std::make_unique<Wait>();
  wait->client = client;
  wait->missing = keys.size();
  wait->links.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto found = lines_.find(keys[i]);
    if (found == lines_.end()) {
      found = lines_.emplace(std::string(keys[i]), KeyLine{}).first;
      found->second.key = found->first;
    }
    auto& line = found->second;
    auto& link = wait->links[i];
    link = Link{wait.get(), &line, line.last, nullptr};
    (line.last != nullptr ? line.last->after : line.first) = &link;
    line.last = &link;
    ++line.length;
  }
  auto& owner = clients_[client.value];
  owner.keys += keys.size();
  wait->index = owner.waits.size();
  owner.waits.push_back(std::move(wait));
  ++wait_count_;
}

void Waiters::unlink(Link& link) {
  auto& line = *link.line;
  (link.before != nullptr ? link.before->after : line.first) = link.after;
  (link.after != nullptr ? link.after->before : line.last) = link.before;
  --line.length;
  link.line = nullptr;
}

void Waiters::finish(Wait& wait) {
  auto const owner = clients_.find(wait.client.value);
  auto& waits = owner->second.waits;
  auto const index = wait.index;
  std::swap(waits[index], waits.back());
  waits[index]->index = index;
  waits.pop_back();
  --wait_count_;
  if (waits.empty()) clients_.erase(owner);
}

bool Waiters::advance(KeyLine& line, std::vector<ClientId>& woken) {
  auto& link = *line.first;
  auto& wait = *link.wait;
  unlink(link);
  --clients_.find(wait.client.value)->second.keys;
  if (--wait.missing > 0) return false;
  woken.push_back(wait.client);
  finish(wait);
  return true;
}

void Waiters::wake_all(std::string_view key, std::vector<ClientId>& woken) {
  if (lines_.empty()) return;
  auto const found = lines_.find(key);
  if (found == lines_.end()) return;
  while (found->second.first != nullptr) advance(found->second, woken);
  lines_.erase(found);
}

void Waiters::wake_one(std::string_view key, std::vector<ClientId>& woken) {
  if (lines_.empty()) return;
  auto const found = lines_.find(key);
  if (found == lines_.end()) return;
  while (found->second.first != nullptr)
    if (advance(found->second, woken)) break;
  if (found->second.first == nullptr) lines_.erase(found);
}

std::size_t Waiters::leave(ClientId client) {
  auto const owner = clients_.find(client.value);
  if (owner == clients_.end()) return 0;
  auto const count = owner->second.waits.size();
  for (auto const& wait : owner->second.waits)
    for (auto& link : wait->links) {
      if (link.line == nullptr) continue;
      auto& line = *link.line;
      unlink(link);
      if (line.first == nullptr) lines_.erase(lines_.find(line.key));
    }
  clients_.erase(owner);
  wait_count_ -= count;
  return count;
}

std::size_t Waiters::keys_of(ClientId client) const {
  auto const owner = clients_.find(client.value);
  return owner == clients_.end() ? 0 : owner->second.keys;
}

std::vector<std::pair<std::string, std::size_t>> Waiters::waited_keys(std::size_t limit) const {
  std::vector<std::pair<std::string, std::size_t>> keys;
  for (auto const& [key, line] : lines_) {
    if (keys.size() == limit) break;
    keys.emplace_back(key, line.length);
  }
  return keys;
}

}  // namespace muster::store
