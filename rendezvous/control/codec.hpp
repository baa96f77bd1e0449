// SPDX-License-Identifier: Apache-2.0
#pragma once
// Control messages to CBOR and back. Strict: every field present once and of its type, none
// unknown, nesting and lists bounded, nothing after the message. No sockets.

#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/message.hpp"

#include <string>
#include <string_view>

namespace muster::control {

struct Letter {
  membership::Header header;
  membership::Message message;

  friend bool operator==(Letter const&, Letter const&) = default;
};

// The body of a frame.
std::string encode(Letter const& letter);

Result<Letter> decode(std::string_view body);

// "JOIN", "LEASE", ...
std::string_view name_of(membership::Message const& message);

}  // namespace muster::control
