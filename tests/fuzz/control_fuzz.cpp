// SPDX-License-Identifier: Apache-2.0
// The control protocol's decoder on anything: frames cut from the bytes at once and byte by byte
// are the same, and what decodes encodes to something that decodes to the same.
#include "rendezvous/control/codec.hpp"
#include "rendezvous/control/frame.hpp"

#include <cstdlib>
#include <vector>

using namespace muster::control;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// The bodies, and whether the stream ended in an error.
struct Cut {
  std::vector<std::string> bodies;
  bool failed = false;

  bool operator==(Cut const&) const = default;
};

Cut cut(std::string_view bytes, std::size_t step) {
  FrameReader reader;
  Cut result;
  for (std::size_t at = 0; at < bytes.size() && !result.failed; at += step) {
    reader.feed(bytes.substr(at, step));
    for (;;) {
      auto next = reader.next();
      result.failed = !next;
      if (!next || !*next) break;
      result.bodies.push_back(**next);
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  (void)read_greeting(bytes.substr(0, kGreetingBytes));
  auto const whole = cut(bytes, size == 0 ? 1 : size);
  require(whole == cut(bytes, 1));
  auto bodies = whole.bodies;
  bodies.emplace_back(bytes);  // a body without its frame: the fuzzer gets deeper
  for (auto const& body : bodies) {
    auto const letter = decode(body);
    if (!letter) continue;
    auto const again = decode(encode(*letter));
    require(again && *again == *letter);
  }
  return 0;
}
