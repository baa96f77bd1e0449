// SPDX-License-Identifier: Apache-2.0
#pragma once
// One struct per TCPStore request. All text is a view: into the caller's arguments when it is to be
// encoded, into the input buffer when it was decoded (valid until that buffer changes).

#include "rendezvous/wire/opcode.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

namespace muster::wire {

// `count` times u64 length and bytes, as they lie on the wire. The decoder has checked the bounds;
// whoever makes one by hand uses encode_list().
struct EncodedList {
  std::uint64_t count = 0;
  std::string_view body;

  // f(std::string_view item) for each in order. f returns false to stop; then so does the result.
  template <class F>
  bool all_of(F&& f) const {
    auto rest = body;
    for (std::uint64_t i = 0; i < count; ++i)
      if (!f(take(rest))) return false;
    return true;
  }

  static std::string_view take(std::string_view& rest) {
    std::uint64_t size;
    std::memcpy(&size, rest.data(), sizeof size);
    auto const item = rest.substr(sizeof size, size);
    rest.remove_prefix(sizeof size + size);
    return item;
  }
};

struct Validate {
  std::uint32_t magic = kValidateMagic;
};
struct Set {
  std::string_view key, value;
};
struct CompareSet {
  std::string_view key, expected, desired;
};
struct Get {
  std::string_view key;
};
struct Add {
  std::string_view key;
  std::int64_t amount = 0;
};
struct Check {
  EncodedList keys;
};
struct Wait {
  EncodedList keys;
};
struct GetNumKeys {};
struct DeleteKey {
  std::string_view key;
};
struct Append {
  std::string_view key, value;
};
struct MultiGet {
  EncodedList keys;
};
struct MultiSet {
  EncodedList pairs;  // key, value, key, value ...: pairs.count is twice the number on the wire
};
struct CancelWait {};
struct Ping {
  std::uint32_t nonce = 0;
};
struct QueuePush {
  std::string_view key, value;
};
struct QueuePop {
  std::string_view key;
};
struct QueueLen {
  std::string_view key;
};
struct ListKeys {};
struct Barrier {
  std::string_view key;
  std::int64_t world_size = 0;
};

// In the order of Opcode: index() is the wire's number.
using Request = std::variant<Validate, Set, CompareSet, Get, Add, Check, Wait, GetNumKeys,
                             DeleteKey, Append, MultiGet, MultiSet, CancelWait, Ping, QueuePush,
                             QueuePop, QueueLen, ListKeys, Barrier>;
static_assert(std::variant_size_v<Request> == kOpcodeCount);

inline Opcode opcode_of(Request const& request) {
  return static_cast<Opcode>(request.index());
}

}  // namespace muster::wire
