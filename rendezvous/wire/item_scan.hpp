// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looks over lists and fields of a message that may still be incomplete. Pure; copies nothing.

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/base/limits.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <string_view>

namespace muster::wire {

// Walks over u64 length and bytes, `count` times, and remembers how far it came.
class ItemScan {
 public:
  void restart(std::size_t position) {
    position_ = position;
    done_ = 0;
  }
  // True once all items are in `input`. Items at odd places may have kMaxValueBytes where
  // `alternate` is set, all others `limit` bytes.
  Result<bool> advance(std::string_view input, std::uint64_t count, std::size_t limit,
                       bool alternate = false);
  std::size_t position() const { return position_; }

 private:
  std::size_t position_ = 0;
  std::uint64_t done_ = 0;
};

// Fields of a message in their order. Once one is incomplete or refused, the later ones read as
// nothing; whoever reads looks at the state when done.
class FieldReader {
 public:
  enum class State { complete, incomplete, refused };

  explicit FieldReader(std::string_view input) : in_(input) {}

  template <class T>
  T number() {
    if (state_ == State::complete) {
      if (auto const value = in_.number<T>()) return *value;
      state_ = State::incomplete;
    }
    return T{};
  }
  std::string_view key() { return sized(limits::kMaxKeyBytes); }
  std::string_view value() { return sized(limits::kMaxValueBytes); }
  std::string_view sized(std::size_t limit);

  State state() const { return state_; }
  std::size_t position() const { return in_.position(); }
  // Why the state is refused.
  Error error() const;

 private:
  ByteReader in_;
  State state_ = State::complete;
  std::uint64_t seen_ = 0;
  std::size_t limit_ = 0;
};

// "a field of 9000 bytes exceeds the limit of 8192".
Error too_long(std::uint64_t seen, std::size_t limit);

}  // namespace muster::wire
