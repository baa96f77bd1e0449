// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a control connection ended, as a kind: to be counted, and to be said once for each peer.

#include <array>
#include <cstdint>
#include <string_view>

namespace muster::control {

enum class Fault : std::uint8_t {
  none,         // hung up, or the network failed
  foreign,      // it does not speak the control protocol
  version,      // another version of it
  tls,          // one side asks for TLS and the other does not
  certificate,  // one side refuses the other's, or what came is no TLS
  no_token,     // one side has a token and the other has none
  token,        // it does not know the token
  forged,       // a frame whose tag is not its sender's
  protocol,     // a frame or letter that is none
  limit,        // too long, or it does not read what it is sent
  late,         // no letter in time
  crowded,      // closed to make room: too many that had not said for whom they speak
};

inline constexpr std::array<std::string_view, 12> kFaultNames{
    "none",  "foreign", "version",  "tls",   "certificate", "no_token",
    "token", "forged",  "protocol", "limit", "late",        "crowded"};

constexpr std::string_view name_of(Fault fault) {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

}  // namespace muster::control
