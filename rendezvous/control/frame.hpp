// SPDX-License-Identifier: Apache-2.0
#pragma once
// How control messages lie in a byte stream: a greeting from each side ("MUSTER", the protocol's
// version, a newline) and what else it says in its opening (handshake.hpp), then frames of a
// little-endian u32 length and that many bytes, under a job token with a tag. No sockets.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::control {

// Raised whenever a message changes: peers of different versions refuse each other at once.
inline constexpr std::uint8_t kProtocolVersion = 2;
inline constexpr std::string_view kMagic = "MUSTER";
inline constexpr std::size_t kGreetingBytes = kMagic.size() + 2;

std::string greeting();

// The version that a greeting of kGreetingBytes names, or an error: not a greeting.
Result<std::uint8_t> read_greeting(std::string_view bytes);

// What to say to people about a peer of another version. `peer` and `self` are names of hosts.
Error version_mismatch(std::uint8_t version, std::string const& peer, std::string const& self);

// The length, the body, and its tag where there is one. The body is at most kMaxControlBytes; its
// length does not count the tag.
std::string frame(std::string_view body, std::string_view tag = {});

// Cuts a stream into frames. Holds at most one incomplete frame; a refused length ends the stream.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // From now on a tag of so many bytes follows each body, and comes out with it.
  void expect_tags(std::size_t bytes) { tag_bytes_ = bytes; }
  // The next whole frame's body, or nothing yet, or an error after which nothing more comes.
  Result<std::optional<std::string>> next();
  // How many bytes are still wanted for the frame that has begun, at least 1: a hint for reading.
  std::size_t wanted() const;
  // Bytes that are held: of one incomplete frame, once next() has said that there is none.
  std::size_t held() const { return buffer_.size() - taken_; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0, tag_bytes_ = 0;
};

}  // namespace muster::control
