// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/callers.hpp"

#include <optional>
#include <utility>

namespace muster::net {

class Callers::Body {
 public:
  Body(asio::io_context& io, ControlSide self, Bounds const& bounds, Callbacks given)
      : callbacks(std::move(given)), newcomers(io, bounds), self_(std::move(self)) {}

  using Ptr = std::shared_ptr<Body>;
  static void take(Ptr const& self, tcp::socket socket, std::string const& bytes);
  void close();

  Callbacks callbacks;
  Newcomers newcomers;
  std::set<ControlConnection::Ptr> connections;

 private:
  ControlSide self_;
};

void Callers::Body::close() {
  callbacks = {};
  for (auto const& connection : connections) connection->close();
  connections.clear();
}

void Callers::Body::take(Ptr const& self, tcp::socket socket, std::string const& bytes) {
  auto const connection = std::make_shared<ControlConnection>(std::move(socket), self->self_);
  self->connections.insert(connection);
  self->newcomers.enter(connection);
  auto const first = std::make_shared<std::optional<membership::Header>>();
  auto const weak = std::weak_ptr<ControlConnection>(connection);
  ControlConnection::Callbacks callbacks;
  callbacks.on_letter = [self, first, weak](control::Letter letter) {
    auto const speaking = weak.lock();
    if (!speaking) return;
    if (!*first) {
      *first = letter.header;
      self->newcomers.settle(*speaking);
    }
    // One connection speaks for one member of one job.
    auto const& known = **first;
    if (letter.header.run_id == known.run_id && letter.header.incarnation == known.incarnation &&
        self->callbacks.on_letter)
      self->callbacks.on_letter(speaking, std::move(letter));
  };
  callbacks.on_end = [self, first, weak](Error const& error) {
    auto const gone = weak.lock();
    if (gone) self->newcomers.ended(*gone, error);
    self->connections.erase(gone);
    if (*first && self->callbacks.on_end) self->callbacks.on_end(gone, **first);
  };
  ControlConnection::start(connection, bytes, std::move(callbacks));
}

Callers::Callers(asio::io_context& io, ControlSide self, Bounds const& bounds, Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(self), bounds, std::move(callbacks))) {}

Callers::~Callers() {
  body_->close();
}

void Callers::take(tcp::socket socket, std::string bytes) {
  Body::take(body_, std::move(socket), bytes);
}

void Callers::close(ControlConnection::Ptr const& connection) {
  connection->close();
  body_->connections.erase(connection);
}

void Callers::finish(ControlConnection::Ptr const& connection) {
  ControlConnection::finish(connection);
  body_->connections.erase(connection);
}

ControlCounters const& Callers::counters() const {
  return body_->newcomers.counters();
}

}  // namespace muster::net
