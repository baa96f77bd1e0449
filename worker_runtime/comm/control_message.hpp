// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks tell each other beside the data: who they are, where everybody listens, that the group
// is over and why. Pure codec: magic, type, length, body; little-endian.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::worker {

enum class Channel : std::uint8_t { control, data };

// Where a rank takes connections.
struct Seat {
  std::string host;     // its name, for messages
  std::string address;  // numeric
  std::uint16_t port = 0;

  friend bool operator==(Seat const&, Seat const&) = default;
};

// The first message on each connection.
struct Hello {
  std::uint64_t nonce = 0;        // of this group: a connection meant for another one is closed
  std::uint64_t incarnation = 0;  // of the calling rank
  std::int32_t rank = 0, size = 0;
  Channel channel = Channel::control;
  Seat seat;

  friend bool operator==(Hello const&, Hello const&) = default;
};
struct Welcome {
  friend bool operator==(Welcome const&, Welcome const&) = default;
};
struct Table {
  std::vector<Seat> seats;  // by rank

  friend bool operator==(Table const&, Table const&) = default;
};
struct Abort {
  Error error;

  friend bool operator==(Abort const&, Abort const&) = default;
};
// The sender leaves in good order; the end of the connection follows.
struct Bye {
  friend bool operator==(Bye const&, Bye const&) = default;
};

using ControlMessage = std::variant<Hello, Welcome, Table, Abort, Bye>;

inline constexpr std::size_t kControlPrefixBytes = 9;
// A table of 10,000 ranks is under 1 MiB.
inline constexpr std::size_t kMaxControlBody = 4u << 20;

std::string encode(ControlMessage const& message);

// Bytes still missing at the end of `bytes` until they hold the next step: the prefix, then the
// whole message; 0 when the message is whole. protocol: not ours, or too long.
Result<std::size_t> missing_bytes(std::string_view bytes);

// Of exactly one whole message.
Result<ControlMessage> decode_control(std::string_view bytes);

}  // namespace muster::worker
