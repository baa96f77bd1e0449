// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connected sockets on loopback and an io_context that is run until a state is reached.

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/control_connection.hpp"
#include "rendezvous/net/listener.hpp"

#include <catch2/catch.hpp>

#include <utility>

namespace muster::net {

template <class F>
bool run_until(asio::io_context& io, F const& condition,
               Duration patience = std::chrono::seconds{20}) {
  auto const deadline = deadline_in(patience);
  while (!condition() && !deadline.passed(now())) {
    io.restart();
    io.run_for(std::chrono::milliseconds{2});
  }
  return condition();
}

inline std::pair<tcp::socket, tcp::socket> socket_pair(asio::io_context& io) {
  auto acceptor = listen_on(io, "127.0.0.1", 0);
  REQUIRE(acceptor);
  tcp::socket client(io), server(io);
  client.connect(acceptor->local_endpoint());
  acceptor->non_blocking(false);
  acceptor->accept(server);
  return {std::move(client), std::move(server)};
}

inline control::Letter letter_of(membership::Message message, std::uint64_t from = 1,
                                 std::string run_id = "job") {
  membership::Header header{std::move(run_id), Generation{0},     Epoch{0},
                            RoundNumber{0},    Incarnation{from}, 0};
  return {std::move(header), std::move(message)};
}

}  // namespace muster::net
