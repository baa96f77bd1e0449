// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who has a port of this machine: for the one line that says why it could not be had. Reads /proc,
// which takes milliseconds where many processes run: for errors that are about to be shown.

#include "rendezvous/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

// The sockets (by inode) that listen at the port, from the text of /proc/net/tcp or tcp6.
std::vector<std::uint64_t> listening_sockets(std::string_view table, std::uint16_t port);

// "pid 812 (python3 train.py), user 1000"; nothing if nobody listens there, or if it may not be
// seen.
std::optional<std::string> port_holder(std::uint16_t port);

// Of address_in_use: the hint names the holder and `remedy`; other errors stay as they are.
Error name_port_holder(Error error, std::uint16_t port, std::string_view remedy);

}  // namespace muster::net
