// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/fresh_id.hpp"

#include "rendezvous/base/assert.hpp"

#include <array>
#include <cstddef>
#include <sys/random.h>

namespace muster::launch {

std::string fresh_run_id() {
  std::array<unsigned char, 16> bytes{};
  // 16 bytes are never cut short, and never wait once the machine is up.
  auto const got = ::getrandom(bytes.data(), bytes.size(), 0);
  MUSTER_ASSERT(got == static_cast<ssize_t>(bytes.size()), "getrandom gave too little");
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kHex[bytes[i] >> 4];
    text += kHex[bytes[i] & 15];
  }
  return text;
}

}  // namespace muster::launch
