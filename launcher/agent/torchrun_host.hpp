// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store in which torchrun's agents meet: served here if the endpoint is this machine's and
// nobody serves it yet, which is torchrun's rule, too. A plain store: what the agents put into it
// is their own business. Control thread only.

#include "launcher/agent/endpoint_search.hpp"
#include "rendezvous/net/server.hpp"

#include <vector>

namespace muster::launch {

class TorchrunHost {
 public:
  struct Options {
    net::Place place;             // the endpoint
    std::string own_name;         // of this machine
    std::optional<bool> is_host;  // unset: found out by binding
  };
  struct Callbacks {
    // Who hosts is known, as far as it can be told from here; once.
    std::function<void()> on_decided;
    std::function<void(Error const&)> on_problem;  // the search goes on
    std::function<void(Error const&)> on_failed;   // and here it does not
  };

  TorchrunHost(net::asio::io_context& io, Options options, Callbacks callbacks);

  void start() { search_.start(); }
  // A call failed. The endpoint may have become ours since it was looked at.
  void nobody_answered() { search_.nobody_answered(); }
  void somebody_answered() { search_.stop(); }

  bool hosts() const { return !servers_.empty(); }
  std::size_t connections() const;
  void stop();

 private:
  void bound(Bound acceptors);
  void decided();

  Callbacks callbacks_;
  bool decided_ = false;
  std::vector<net::Server> servers_;
  EndpointSearch search_;
};

}  // namespace muster::launch
