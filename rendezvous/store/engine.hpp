// SPDX-License-Identifier: Apache-2.0
#pragma once
// The key-value engine: one request in, its reply and the clients to wake out. The semantics are
// those of PyTorch's libuv server (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp); where
// that server contradicts itself the rendezvous README says what is done here. Single-threaded, no
// sockets, no clock.

#include "rendezvous/base/ids.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/counters.hpp"
#include "rendezvous/store/queues.hpp"
#include "rendezvous/store/text_map.hpp"
#include "rendezvous/store/waiters.hpp"
#include "rendezvous/wire/message.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::store {

class Engine {
 public:
  Engine() = default;
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  // Carries out a request. Appends what its client is answered to `reply`: nothing where the
  // request has no reply, or parks. Appends to `woken` the clients whose wait has ended, in the
  // order in which they waited: each is owed one byte kStopWaiting per time it is named (it may
  // name `client` too). After an error the client's connection must be closed.
  Result<void> apply(ClientId client, wire::Request const& request, std::string& reply,
                     std::vector<ClientId>& woken);

  // From now on it is noted when this key is set, added or appended to; one key at a time.
  void watch(std::string key) { watched_ = std::move(key); }
  // Whether it was since this was last asked.
  bool take_written() { return std::exchange(written_, false); }

  // A connection's VALIDATE, which its session reads itself.
  void count_greeting() { ++counters_.requests[0]; }
  // The client's connection is gone: its waits are forgotten.
  void leave(ClientId client) { waiters_.leave(client); }

  std::size_t key_count() const { return keys_.size(); }
  Counters const& counters() const { return counters_; }
  Waiters const& waiters() const { return waiters_; }
  Queues const& queues() const { return queues_; }

 private:
  struct Call;  // one request's context; the commands are its members
  using Keys = TextMap<std::string>;

  void put(std::string_view key, std::string_view value);
  bool is_there(std::string_view key) const;
  Result<std::int64_t> increment(std::string_view key, std::int64_t amount);

  Counters counters_;
  Keys keys_;
  Queues queues_{counters_};
  Waiters waiters_;
  std::string watched_;
  bool written_ = false;
};

}  // namespace muster::store
