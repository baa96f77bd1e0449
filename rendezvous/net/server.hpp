// SPDX-License-Identifier: Apache-2.0
#pragma once
// One listener that speaks three protocols, told apart by their first bytes (wire/greeting.hpp):
// TCPStore, answered here by an engine of the server's own; muster's control protocol (also in TLS)
// and HTTP, whose connections are handed over. Cheap: making one and starting it costs a few
// microseconds and no thread. Lives on one io_context, and is used from its thread only.

#include "rendezvous/net/asio.hpp"
#include "rendezvous/net/bounds.hpp"
#include "rendezvous/net/server_counters.hpp"
#include "rendezvous/store/engine.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

// Takes over a connection and the bytes already read from it, its greeting included. Called on the
// io_context's thread; must not destroy the server from inside the call.
using Handover = std::function<void(tcp::socket, std::string)>;

struct ServerOptions {
  // Without these such connections are closed, counted, and logged once.
  Handover on_control;
  Handover on_http;
  // False: TCPStore connections are closed, counted, and logged once.
  bool serves_store = true;
  // Numeric addresses of those who may use the store, beside this machine. Unset: everybody.
  std::optional<std::vector<std::string>> allow;
  Bounds bounds = bounds_of_this_process();
};

class Server {
 public:
  // Serves a listening socket (listener.hpp) from the next turn of its io_context on.
  Server(tcp::acceptor acceptor, ServerOptions options);
  // As stop(). Must happen before its io_context goes; handlers still queued there do no harm.
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  tcp::endpoint endpoint() const;
  std::uint16_t port() const { return endpoint().port(); }

  // Closes the listener and every connection at once. Connections handed over are not ours.
  void stop();
  // Closes the listener, and each connection once it has been sent what it is owed; after
  // `patience` the rest too. Then calls `done`, from the io_context.
  void drain(Duration patience, std::function<void()> done);

  // An empty store under the same address: closes every connection that has spoken TCPStore, then
  // drops all keys. For a round whose port must not change, once all old workers are dead.
  void renew_keys();
  // From now on; connections that are there stay.
  void allow_only(std::vector<std::string> const& addresses);
  // These, too, where not everybody is allowed anyway.
  void allow_also(std::vector<std::string> const& addresses);

  // Calls `on_written`, from the io_context, after each request that wrote to this key; one key at
  // a time. For an owner that would otherwise have to look again and again.
  void watch_key(std::string_view key, std::function<void()> on_written);

  // A consistent view, between two calls into the io_context.
  store::Engine const& engine() const;
  ServerCounters const& counters() const;
  std::size_t connections() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
