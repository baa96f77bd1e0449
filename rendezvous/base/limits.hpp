// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every bound of the store and the control protocol, with its reason.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace muster::limits {

// TCPStore requests: the libuv server's own bounds
// (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp), so that a client sees the same refusals.
inline constexpr std::size_t kMaxKeyBytes = 8'192;
inline constexpr std::size_t kMaxValueBytes = 8u << 20;
inline constexpr std::uint64_t kMaxKeyCount = 131'072;

// A request whose parts together exceed this is refused: many legal values must not add up to our
// memory.
inline constexpr std::size_t kMaxRequestBytes = 64u << 20;

// What the requests of one server that are not whole yet hold together before large ones wait for
// each other: four of the largest.
inline constexpr std::size_t kMaxHalfRequestBytes = 256u << 20;

// Replies that a client has not read yet. Beyond it the server stops reading that client; nobody
// else notices.
inline constexpr std::size_t kMaxUnsentBytes = 1u << 20;

// One control message: a table of 10,000 nodes is under 2 MiB.
inline constexpr std::size_t kMaxControlBytes = 4u << 20;

// Bytes of an HTTP request's head.
inline constexpr std::size_t kMaxHttpHeadBytes = 16'384;

// A connection must say which protocol it speaks within this, or is closed, as is one whose first
// request or letter has begun and is not whole by then: slow-loris and port scans.
inline constexpr std::chrono::seconds kGreetingDeadline{10};

// SIGTERM to the end of musterd: open connections get this long to read what they are owed.
inline constexpr std::chrono::seconds kDrainDeadline{2};

}  // namespace muster::limits
