// SPDX-License-Identifier: Apache-2.0
// IDX files, plain and gzip: any bytes give a tensor that fills its shape, or an error.
#include "rendezvous/base/assert.hpp"
#include "worker_runtime/data/gzip.hpp"
#include "worker_runtime/data/idx.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::worker;
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  auto const plain = gunzip(bytes, 1 << 20);
  auto const parsed = parse_idx(plain ? std::string_view(*plain) : bytes, "fuzz");
  if (parsed) MUSTER_ASSERT(parsed->bytes() <= parsed->storage->bytes(), "a tensor is backed");
  return 0;
}
