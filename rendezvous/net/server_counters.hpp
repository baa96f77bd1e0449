// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that a server's sockets keep for metrics; the engine's are in store/counters.hpp.

#include "rendezvous/base/clock.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace muster::net {

// How long a waiter's wake-up took: from the bytes of the request that ended its wait being read
// to its own byte being handed to the kernel.
class WakeHistogram {
 public:
  static constexpr std::array<std::chrono::microseconds, 11> kBounds{
      std::chrono::microseconds{5},      std::chrono::microseconds{10},
      std::chrono::microseconds{25},     std::chrono::microseconds{50},
      std::chrono::microseconds{100},    std::chrono::microseconds{250},
      std::chrono::microseconds{500},    std::chrono::microseconds{1'000},
      std::chrono::microseconds{5'000},  std::chrono::microseconds{25'000},
      std::chrono::microseconds{100'000}};

  void record(Duration took, std::uint64_t times) {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && took > kBounds[bucket]) ++bucket;
    buckets_[bucket] += times;
    count_ += times;
    sum_ += took * static_cast<std::int64_t>(times);
  }
  // buckets()[i]: at most kBounds[i], the last one: longer. Not cumulative.
  std::array<std::uint64_t, kBounds.size() + 1> const& buckets() const { return buckets_; }
  std::uint64_t count() const { return count_; }
  Duration sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  Duration sum_{};
};

struct ServerCounters {
  std::uint64_t accepted = 0;
  std::uint64_t accept_failures = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t unknown_greetings = 0;  // first bytes of no protocol, or of one not served here
  std::uint64_t late_greetings = 0;     // no greeting, or half a first request, at the deadline
  std::uint64_t control_connections = 0, http_connections = 0;
  std::uint64_t violations = 0;     // closed for breaking the protocol or a limit
  std::uint64_t strangers = 0;      // store connections from addresses that may not
  std::uint64_t store_closed = 0;   // store connections where the store is closed to everybody
  std::uint64_t crowded = 0;        // closed to make room, or for which there was none
  std::uint64_t slow_requests = 0;  // closed because others waited for the memory of their request
  std::uint64_t paused = 0;         // times a client was not read because it did not read
  std::uint64_t held_back = 0;      // times a client was not read because requests held much memory
  WakeHistogram wake;
};

// Calls f(reason, count) for each reason why a connection is closed by its server.
template <class F>
void each_refusal(ServerCounters const& counters, F const& f) {
  f("unknown_greeting", counters.unknown_greetings);
  f("late_greeting", counters.late_greetings);
  f("violation", counters.violations);
  f("stranger", counters.strangers);
  f("store_closed", counters.store_closed);
  f("crowded", counters.crowded);
  f("slow_request", counters.slow_requests);
}

// "stranger 12, violation 1"; empty where none was closed.
inline std::string refusals_text(ServerCounters const& counters) {
  std::string text;
  each_refusal(counters, [&text](std::string const& reason, std::uint64_t count) {
    if (count > 0) text += (text.empty() ? "" : ", ") + reason + " " + std::to_string(count);
  });
  return text;
}

}  // namespace muster::net
