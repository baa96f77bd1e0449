// SPDX-License-Identifier: Apache-2.0
// Replies of a store server as a client reads them. The first byte says which request is answered,
// the second how many keys it named; at once and byte by byte they must mean the same.
#include "rendezvous/base/assert.hpp"
#include "rendezvous/wire/reply_decoder.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

using namespace muster;

namespace {

struct Outcome {
  bool refused = false;
  std::size_t consumed = 0;
  std::int64_t number = 0;
  std::size_t items = 0;

  friend bool operator==(Outcome const&, Outcome const&) = default;
};

Outcome read(wire::Opcode asked, std::uint64_t keys, std::string_view input, std::size_t piece) {
  wire::ReplyDecoder decoder;
  std::size_t end = 0;
  while (true) {
    end = std::min(input.size(), end + piece);
    auto const found = decoder.next(asked, keys, input.substr(0, end));
    if (!found) return {true, 0, 0, 0};
    if (found->has_value()) {
      auto const& [reply, consumed] = **found;
      MUSTER_ASSERT(consumed <= end, "a reply is longer than the input");
      std::size_t items = 0;
      reply.list.all_of([&](std::string_view item) {
        items += item.size() + 1;
        return true;
      });
      return {false, consumed, reply.number, items + reply.value.size()};
    }
    if (end == input.size()) return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2) return 0;
  std::unique_ptr<char[]> const exact(new char[size]);
  std::copy(data, data + size, exact.get());
  std::string_view const input(exact.get() + 2, size - 2);
  auto const asked = static_cast<wire::Opcode>(data[0] % wire::kOpcodeCount);
  auto const whole = read(asked, data[1], input, std::max<std::size_t>(1, input.size()));
  MUSTER_ASSERT(read(asked, data[1], input, 1) == whole, "bytes one by one mean something else");
  return 0;
}
