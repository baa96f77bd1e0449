// SPDX-License-Identifier: Apache-2.0
#pragma once
// How control messages lie in a byte stream: a greeting from each side ("MUSTER", the protocol's
// version, a newline), then frames of a little-endian u32 length and that many bytes. No sockets.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::control {

// Raised whenever a message changes: peers of different versions refuse each other at once.
inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::string_view kMagic = "MUSTER";
inline constexpr std::size_t kGreetingBytes = kMagic.size() + 2;

std::string greeting();

// The version that a greeting of kGreetingBytes names, or an error: not a greeting.
Result<std::uint8_t> read_greeting(std::string_view bytes);

// What to say to people about a peer of another version. `peer` and `self` are names of hosts.
Error version_mismatch(std::uint8_t version, std::string const& peer, std::string const& self);

// The length, then the body. The body is at most kMaxControlBytes.
std::string frame(std::string_view body);

// Cuts a stream into frames. Holds at most one incomplete frame; a refused length ends the stream.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame's body, or nothing yet, or an error after which nothing more comes.
  Result<std::optional<std::string>> next();
  // How many bytes are still wanted for the frame that has begun, at least 1: a hint for reading.
  std::size_t wanted() const;

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
};

}  // namespace muster::control
