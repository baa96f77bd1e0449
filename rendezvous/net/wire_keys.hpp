// SPDX-License-Identifier: Apache-2.0
#pragma once
// The "/" that PyTorch's TCPStore puts before every user's key on the wire, and takes off in
// list_keys, where names without it ("init/") are dropped.

#include "rendezvous/wire/message.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

std::string wire_key(std::string_view user_key);
// As wire::encode_list, over keys with their slash.
wire::EncodedList encode_wire_keys(std::span<std::string const> user_keys, std::string& storage);
// Key, value, key, value; the spans are equally long.
wire::EncodedList encode_wire_pairs(std::span<std::string const> user_keys,
                                    std::span<std::string const> values, std::string& storage);
std::vector<std::string> without_slash(std::vector<std::string> const& wire_keys);
std::vector<std::string> user_keys(wire::EncodedList const& wire_keys);

}  // namespace muster::net
