// SPDX-License-Identifier: Apache-2.0
// A connection's opening on anything: in one piece and byte by byte come to the same, little is
// held, and nobody without the token is let in. The first byte chooses the role and what is asked;
// a 'v' stands for our version, so that the corpus outlives it.
#include "rendezvous/base/assert.hpp"
#include "rendezvous/control/frame.hpp"
#include "rendezvous/control/handshake_step.hpp"
#include "tests/unit/control/toy_mac.hpp"

#include <cstdint>

using namespace muster;
using namespace muster::control;

namespace {

struct End {
  Handshake::Phase phase;
  Fault fault;
  std::string sent, rest;

  bool operator==(End const&) const = default;
};

End run(unsigned choice, std::string_view bytes, std::size_t piece) {
  Handshake side;
  side.role = (choice & 1) != 0 ? Role::caller : Role::host;
  side.token = (choice & 2) != 0 ? "token" : "";
  side.own.asks_tls = (choice & 4) != 0;
  side.over_tls = (choice & 8) != 0;
  side.own.nonce = std::string(kNonceBytes, 'n');
  side.mac = toy_mac;
  begin_handshake(side);
  End end{Handshake::Phase::opening, Fault::none, {}, {}};
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    auto const step = handshake_step(side, bytes.substr(at, piece));
    end.sent += step.send;
    if (step.error) end.fault = step.fault;
    auto const waits =
        side.phase == Handshake::Phase::opening || side.phase == Handshake::Phase::proof;
    MUSTER_ASSERT(!waits || side.input.size() <= kGreetingBytes + 2 + kMaxOpeningBody + piece,
                  "an opening holds more than it may be long");
  }
  end.phase = side.phase;
  end.rest = side.input;
  return end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  if (bytes.size() >= kGreetingBytes && bytes[kMagic.size()] == 'v')
    bytes[kMagic.size()] = static_cast<char>(kProtocolVersion);
  auto const whole = run(data[0], bytes, size);
  MUSTER_ASSERT(whole == run(data[0], bytes, 1), "pieces differ from the whole");
  auto const has_token = (data[0] & 2) != 0;
  MUSTER_ASSERT(!has_token || whole.phase != Handshake::Phase::done, "let in without the token");
  return 0;
}
