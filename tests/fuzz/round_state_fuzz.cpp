// SPDX-License-Identifier: Apache-2.0
// Whatever lies under torchrun's key: read or refused within its bounds, and what was read is
// written as something that reads the same.
#include "rendezvous/torchrun/pickle_reader.hpp"
#include "rendezvous/torchrun/pickle_writer.hpp"
#include "rendezvous/torchrun/round_state.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::torchrun;
  std::string const bytes(reinterpret_cast<char const*>(data), size);
  if (auto const value = pickle::read(bytes)) {
    auto const again = pickle::read(pickle::write(*value));
    require(again && *again == *value);
  }
  if (auto const state = read_state(bytes)) {
    auto const again = decode_state(encode_state(*state));
    require(again && *again && **again == *state);
  }
  (void)decode_state(bytes);
  return 0;
}
