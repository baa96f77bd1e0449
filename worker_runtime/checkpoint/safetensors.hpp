// SPDX-License-Identifier: Apache-2.0
#pragma once
// The safetensors format (huggingface/safetensors, README.md): an 8-byte little-endian length, a
// JSON header of that length, then the tensors' bytes without gaps. Reading is strict: what the
// header says must cover the file exactly once. Pure: bytes in, bytes out.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::worker {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit

struct NamedTensor {
  std::string name;  // as in torch's state_dict
  Tensor tensor;
};

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes of the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  std::uint64_t file_bytes = 0;
};

// A file's first bytes, and where each tensor of `tensors` lies behind them: largest elements
// first, then by name, as the format's own writer orders them.
struct SafetensorsPlan {
  std::string head;
  std::vector<std::size_t> order;         // indices into `tensors`, in file order
  std::vector<SafetensorsEntry> entries;  // in file order
};
SafetensorsPlan plan_safetensors(std::span<NamedTensor const> tensors,
                                 std::map<std::string, std::string> const& metadata);

// How many bytes of a file of `file_bytes` the header takes, from its first 8 bytes or more.
Result<std::uint64_t> safetensors_head_bytes(std::string_view first, std::uint64_t file_bytes,
                                             std::string const& name);

// `head`: at least the bytes that safetensors_head_bytes() told. Errors name `name`.
Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_bytes,
                                            std::string const& name);

}  // namespace muster::worker
