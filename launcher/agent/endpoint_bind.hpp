// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whose endpoint is it? Whoever can bind its addresses hosts the rendezvous. The rules are pure
// functions over what the resolver and the kernel said.

#include "rendezvous/membership/node_network.hpp"
#include "rendezvous/net/asio.hpp"

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace muster::launch {

// The addresses to bind for an endpoint named `host`, in an order that every process of a machine
// agrees on. {""} stands for all addresses: where the name is this machine's own, but resolves to
// loopback here (Debian's /etc/hosts) and to something else at its peers.
std::vector<std::string> bind_addresses(std::string const& host, std::string const& own_name,
                                        std::vector<std::string> resolved);

bool is_loopback_address(std::string const& numeric);
// A name or address that on every machine is the machine itself.
bool is_loopback_place(std::string const& host);

struct NotOurs {};  // none of the addresses is on this machine
struct InUse {};    // one is, and somebody listens there already
using Bound = std::vector<net::tcp::acceptor>;

// All addresses that are ours, or the first reason against it: somebody else on this machine has
// one of them, or we may not.
std::variant<Bound, NotOurs, InUse, Error> bind_endpoint(net::asio::io_context& io,
                                                         std::vector<std::string> const& addresses,
                                                         std::uint16_t port);

// Where to listen so that others reach this node at `given`: there, if that is one of its networks
// (by its own interface, where it is link-local) or loopback; else everywhere (""), since a name or
// an address that is translated on its way is none of this node's.
std::string listen_address(std::string const& given,
                           std::span<membership::NodeNetwork const> networks);

// The address of another node as this one dials it: a link-local one by this node's own interface.
std::string dial_address(std::string const& address,
                         std::span<membership::NodeNetwork const> networks);

// Names that never resolve by definition (RFC 6761): waiting for them is waiting for nothing.
bool can_never_resolve(std::string const& host);

}  // namespace muster::launch
