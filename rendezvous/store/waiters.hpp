// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who waits for which keys. A wait names keys; each time one of them comes, its part of the wait
// is done, and with the last the client is owed one wake-up. Per key in arrival order; joining,
// leaving and waking cost O(keys of that wait). Pure, single-threaded.

#include "rendezvous/base/ids.hpp"
#include "rendezvous/store/text_map.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::store {

class Waiters {
 public:
  Waiters();
  ~Waiters();
  Waiters(Waiters const&) = delete;
  Waiters& operator=(Waiters const&) = delete;

  // Parks a client until every key of `keys` has come once. `keys` is not empty. A client may have
  // several waits; each is owed its own wake-up.
  void park(ClientId client, std::vector<std::string_view> const& keys);

  // The key has come: appends the clients of the waits that are complete, in arrival order.
  void wake_all(std::string_view key, std::vector<ClientId>& woken);
  // As much of the key came as one wait can use: goes in arrival order until one is complete.
  void wake_one(std::string_view key, std::vector<ClientId>& woken);

  // Forgets the client's waits. How many there were.
  std::size_t leave(ClientId client);

  std::size_t waits() const { return wait_count_; }
  // Keys that this client still waits for.
  std::size_t keys_of(ClientId client) const;
  // Each key waited for, with the number of waits on it.
  std::vector<std::pair<std::string, std::size_t>> waited_keys(std::size_t limit) const;

 private:
  struct Wait;
  struct Link;
  struct KeyLine;  // the waits on one key, oldest first
  struct ClientWaits;

  void unlink(Link& link);
  void finish(Wait& wait);
  // Takes the oldest wait off the line; the client if that was its last key.
  bool advance(KeyLine& line, std::vector<ClientId>& woken);

  TextMap<KeyLine> lines_;
  std::unordered_map<std::uint64_t, ClientWaits> clients_;
  std::size_t wait_count_ = 0;
};

}  // namespace muster::store
