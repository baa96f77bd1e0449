// SPDX-License-Identifier: Apache-2.0
// The first bytes of a connection, and the HTTP head that may follow: a decision once made must
// not change with more bytes.
#include "rendezvous/base/assert.hpp"
#include "rendezvous/net/http_head.hpp"
#include "rendezvous/wire/greeting.hpp"

#include <cstdint>

using namespace muster;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const input(reinterpret_cast<char const*>(data), size);
  auto decided = wire::Greeting::undecided;
  for (std::size_t n = 0; n <= std::min<std::size_t>(size, 16); ++n) {
    auto const now = wire::classify(input.substr(0, n));
    MUSTER_ASSERT(decided == wire::Greeting::undecided || now == decided,
                  "a decided greeting changed");
    decided = now;
  }
  auto const head = net::parse_http_head(input);
  if (head && head->has_value())
    MUSTER_ASSERT((*head)->path.size() < size, "a path is longer than its request");
  return 0;
}
