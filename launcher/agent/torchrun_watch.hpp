// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do torchrun's agents meet at our endpoint under our run id, while we would decide who takes part?
// Then there would be two jobs where one was meant. Where this agent serves the endpoint's store it
// is told when they write; in somebody else's it waits for them, for a while. Control thread only;
// callbacks come from the io_context.

#include "rendezvous/net/asio.hpp"
#include "rendezvous/net/dialer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster::launch {

class TorchrunWatch {
 public:
  // An error names all who are there. Refused, and exit code 84, for whoever cannot go on.
  struct Callbacks {
    std::function<bool()> is_settled;  // who decides is settled: no visit is worth it any more
    // In the store that this agent serves. Theirs is closed: its agents end, and say so.
    std::function<void(Error const&)> on_met_here;
    // In somebody else's store, while it is not settled.
    std::function<void(Error const&)> on_met_there;
  };

  // `place`: the endpoint.
  TorchrunWatch(net::asio::io_context& io, std::string run_id, std::string own_name,
                net::Place place, Callbacks callbacks);
  ~TorchrunWatch();
  TorchrunWatch(TorchrunWatch const&) = delete;
  TorchrunWatch& operator=(TorchrunWatch const&) = delete;

  // Where they meet.
  std::string key() const;
  // That key was written in our own store.
  void written();

  // Somebody else serves a store there, or may: its agents are given a moment to say who they are.
  void visit();
  // A host answers there: most jobs have begun soon, and then nobody looks.
  void visit_later();
  // Whether it is settled or not; `then` has the only word.
  using Visited = std::function<void(std::optional<Error>)>;
  void visit(Visited then);

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
