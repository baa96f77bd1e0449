// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/frame_seal.hpp"

#include "rendezvous/base/bytes.hpp"

#include <array>

namespace muster::control {

std::string FrameSeal::tag(std::string_view body) const {
  std::string number;
  ByteWriter(number).number(frames_);
  std::array<std::string_view, 2> const parts{number, body};
  return mac_(key_, parts).substr(0, kTagBytes);
}

bool FrameSeal::check(std::string_view body, std::string_view given) {
  if (!same_secret(tag(body), given)) return false;
  count();
  return true;
}

}  // namespace muster::control
