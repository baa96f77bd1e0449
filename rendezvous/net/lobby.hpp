// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connections that have not said yet what they want: how many there may be, in all and from one
// address, and for how long. Where there are too many the one that waits longest goes: who has
// something to say does so within a round trip, and a newcomer is not kept out by those who do not.
// Knows no socket and no clock.

#include "rendezvous/base/clock.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::net {

struct LobbyRules {
  std::size_t in_all = 1024;
  std::size_t from_one_address = 256;
  Duration patience = std::chrono::seconds{10};
};

class Lobby {
 public:
  using Key = std::uint64_t;  // grows with every arrival

  explicit Lobby(LobbyRules rules) : rules_(rules) {}

  // Lets `key` in. Who has to go for it, if anybody: still listed until it leaves. An empty address
  // is everybody's (loopback: all local clients share it) and is bounded by the total alone.
  std::optional<Key> enter(Key key, std::string const& address, TimePoint now);
  // It has said what it wants, or is gone.
  void leave(Key key);

  bool holds(Key key) const { return waiting_.contains(key); }
  std::size_t size() const { return waiting_.size(); }
  // Those whose time is over, longest first; listed until they leave.
  std::vector<Key> overdue(TimePoint now) const;
  std::optional<TimePoint> next_due() const;

 private:
  struct Entry {
    std::string address;
    TimePoint due;
  };

  LobbyRules rules_;
  std::map<Key, Entry> waiting_;
  std::map<std::string, std::set<Key>> by_address_;
};

}  // namespace muster::net
