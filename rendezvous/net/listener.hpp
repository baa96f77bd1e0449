// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bound and listening sockets. Close-on-exec; what is set here is inherited by every accepted
// connection: no delay, keep-alive.

#include "rendezvous/base/port_range.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace muster::net {

// Binds host:port and listens. host: "" or "*" or "::" for all addresses of both families (IPv4
// only where the kernel has no IPv6), a numeric address, or a name, whose resolution blocks. Port
// 0: the system chooses. The error says what is taken and what to do.
Result<tcp::acceptor> listen_on(asio::io_context& io, std::string const& host, std::uint16_t port);

// The first port of the ranges that can be bound and is not in `avoid`.
Result<tcp::acceptor> listen_in_ranges(asio::io_context& io, std::string const& host,
                                       std::span<PortRange const> ranges,
                                       std::span<std::uint16_t const> avoid);

// "[::1]:29400", "10.0.0.7:29400".
std::string to_text(tcp::endpoint const& endpoint);

// Marks a descriptor close-on-exec; Asio's own sockets are not.
void close_on_exec(int descriptor);

}  // namespace muster::net
