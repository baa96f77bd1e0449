// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members of one complete round of torchrun's tell each other, through keys of that round, how
// many workers each has, who has which ranks and where the workers' store is: torchrun's protocol
// (api.py: _assign_worker_ranks; RendezvousStoreInfo), with what keeps its faults W1, W2 and W3
// from happening where muster can prevent them (torchrun::plan_store). Control thread only.

#include "rendezvous/net/asio.hpp"
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/torchrun/round_keys.hpp"
#include "rendezvous/torchrun/workers_store.hpp"

#include <functional>
#include <memory>

namespace muster::launch {

struct TorchrunRound {
  torchrun::Seat seat;
  torchrun::AssignedRanks ranks;
  torchrun::WorkersStore store;  // with its owner
};

class TorchrunAgreement {
 public:
  struct Options {
    net::Place place;  // of the store in which the agents meet
    std::string run_id;
    torchrun::Seat seat;
    torchrun::RoleInfo role;
    std::string own_address;  // to be told to the others
  };
  struct Callbacks {
    // The store of our own workers: a new one; or the one that there is, emptied. Its port.
    std::function<Result<std::uint16_t>()> open_store, renew_store;
    std::function<void(Result<TorchrunRound>)> on_end;  // once, from the io_context
  };

  TorchrunAgreement(net::asio::io_context& io, Options options, Callbacks callbacks);
  ~TorchrunAgreement();  // gives up; no callback comes any more
  TorchrunAgreement(TorchrunAgreement const&) = delete;
  TorchrunAgreement& operator=(TorchrunAgreement const&) = delete;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
