// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers of the TCPStore protocol (torch/csrc/distributed/c10d/TCPStoreBackend.hpp, QueryType
// and the response enums) and the bytes with which each of the port's three protocols begins.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::wire {

enum class Opcode : std::uint8_t {
  validate = 0,
  set = 1,
  compare_set = 2,
  get = 3,
  add = 4,
  check = 5,
  wait = 6,
  get_num_keys = 7,
  delete_key = 8,
  append = 9,
  multi_get = 10,
  multi_set = 11,
  cancel_wait = 12,
  ping = 13,
  queue_push = 14,
  queue_pop = 15,
  queue_len = 16,
  list_keys = 17,
  barrier = 18,
};
inline constexpr std::size_t kOpcodeCount = 19;

constexpr std::optional<Opcode> opcode_of(std::uint8_t byte) {
  if (byte >= kOpcodeCount) return std::nullopt;
  return static_cast<Opcode>(byte);
}

inline constexpr std::array<std::string_view, kOpcodeCount> kOpcodeNames = {
    "validate",   "set",        "compare_set", "get",       "add",       "check",       "wait",
    "getnumkeys", "delete_key", "append",      "multi_get", "multi_set", "cancel_wait", "ping",
    "queue_push", "queue_pop",  "queue_len",   "list_keys", "barrier"};

constexpr std::string_view name_of(Opcode opcode) {
  return kOpcodeNames[static_cast<std::size_t>(opcode)];
}

inline constexpr std::uint32_t kValidateMagic = 0x3C85F7CE;

// Replies of one byte.
inline constexpr char kReady = 0, kNotReady = 1;            // CHECK
inline constexpr char kStopWaiting = 0, kWaitCanceled = 1;  // WAIT, BARRIER, CANCEL_WAIT

}  // namespace muster::wire
