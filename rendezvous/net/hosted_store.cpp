// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/hosted_store.hpp"

#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/server.hpp"

#include <optional>
#include <pthread.h>
#include <signal.h>
#include <thread>

namespace muster::net {

// The server belongs to the thread from its start to its end; only port, which never changes, and
// stop(), which Asio allows from any thread, are used by the owner.
struct HostedStore::Body {
  Body() : io(1) {}
  ~Body() {
    io.stop();
    if (thread.joinable()) thread.join();
    server.reset();
  }

  void run() {
    // Signals are for the program's own threads.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    io.run();
  }

  asio::io_context io;
  std::optional<Server> server;
  std::uint16_t port = 0;
  std::thread thread;
};

HostedStore::HostedStore(std::unique_ptr<Body> body) : body_(std::move(body)) {}
HostedStore::HostedStore(HostedStore&&) noexcept = default;
HostedStore& HostedStore::operator=(HostedStore&&) noexcept = default;
HostedStore::~HostedStore() = default;

Result<HostedStore> HostedStore::start(std::string host, std::uint16_t port) {
  auto body = std::make_unique<Body>();
  MUSTER_TRY(auto acceptor, listen_on(body->io, host, port));
  body->server.emplace(std::move(acceptor), ServerOptions{});
  body->port = body->server->port();
  body->thread = std::thread([raw = body.get()] { raw->run(); });
  return HostedStore(std::move(body));
}

std::uint16_t HostedStore::port() const {
  return body_->port;
}

}  // namespace muster::net
