// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header in front of each piece of data between two ranks. Pure codec; little-endian, fixed
// size. It carries the operation's whole signature, so every first byte from a peer tells whether
// both sides are in the same operation.

#include "worker_runtime/comm/signature.hpp"

#include <array>

namespace muster::worker {

struct FrameHeader {
  std::uint64_t sequence = 0;  // of the operation in its group
  Signature signature;
  Algorithm algorithm = Algorithm::dissemination;
  std::uint16_t round = 0;
  std::uint64_t offset = 0;  // elements into the transfer
  std::uint32_t length = 0;  // bytes of payload that follow

  friend bool operator==(FrameHeader const&, FrameHeader const&) = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 56;
// No sender makes longer pieces, so a longer one is not ours.
inline constexpr std::size_t kMaxSegmentBytes = 1u << 20;

using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameBytes encode(FrameHeader const& header);
// protocol: wrong magic, or a value outside its enum or bound.
Result<FrameHeader> decode_frame(FrameBytes const& bytes);

}  // namespace muster::worker
