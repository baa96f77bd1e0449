// SPDX-License-Identifier: Apache-2.0
#pragma once
// What torchrun::peer_step wishes of the store in which torchrun's agents meet: the one value that
// all compare and set, and the exit barrier. Two connections: a wait at the barrier must not hold
// up a heartbeat. Control thread only; callbacks come from the io_context.

#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/torchrun/round_keys.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace muster::launch {

class TorchrunExchange {
 public:
  struct Callbacks {
    // What lies under the key, after a read or an attempt to replace it. `own_address`: this end of
    // the connection.
    std::function<void(std::string value, std::string const& own_address)> on_state;
    std::function<void(Error const&)> on_failed;  // the same call
    std::function<void(std::int64_t round, std::int64_t agents)> on_counted;
    std::function<void(std::int64_t round)> on_barrier_passed;
  };

  TorchrunExchange(net::asio::io_context& io, net::Place place, std::string run_id,
                   Callbacks callbacks);
  ~TorchrunExchange();  // no callback comes any more
  TorchrunExchange(TorchrunExchange const&) = delete;
  TorchrunExchange& operator=(TorchrunExchange const&) = delete;

  // One call at a time. Connects first where there is no connection.
  void read();
  void replace(std::string expected, std::string desired);

  // For muster's agents: how the job ended. Before the state is replaced by one that says so.
  void tell_end(torchrun::EndNote const& note);
  // Nothing where there is no such note, or no store any more.
  void hear_end(std::function<void(std::optional<torchrun::EndNote>)> then);

  // How many agents are at the round's exit barrier; nothing where the store does not answer.
  void count(std::int64_t round);
  // As one of `agents`. Asks until it is passed, or left.
  void enter_barrier(std::int64_t round, std::size_t agents);
  void leave_barrier();

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
