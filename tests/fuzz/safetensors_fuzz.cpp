// SPDX-License-Identifier: Apache-2.0
// safetensors files: any bytes give entries that lie in the file one behind another, or an error.
#include "rendezvous/base/assert.hpp"
#include "worker_runtime/checkpoint/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::worker;
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  auto const parsed = parse_safetensors(bytes, size, "fuzz");
  if (!parsed) return 0;
  auto behind = parsed->entries.empty() ? size : parsed->entries.front().begin;
  for (auto const& entry : parsed->entries) {
    MUSTER_ASSERT(entry.begin == behind && entry.end >= entry.begin, "entries leave no gap");
    behind = entry.end;
  }
  MUSTER_ASSERT(behind == size, "entries end with the file");
  return 0;
}
