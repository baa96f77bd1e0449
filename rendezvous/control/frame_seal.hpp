// SPDX-License-Identifier: Apache-2.0
#pragma once
// Under a job token every frame ends in a tag: HMAC over its number and its body, with a key that
// belongs to this connection and this direction. So nothing can be put in, changed, left out,
// doubled or moved to another place or connection. What is said is not hidden: that is TLS's.

#include "rendezvous/control/mac.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::control {

inline constexpr std::size_t kTagBytes = 16;  // of HMAC-SHA256's 32: as good against a guess

// One direction of one connection.
class FrameSeal {
 public:
  FrameSeal(Mac mac, std::string key) : mac_(std::move(mac)), key_(std::move(key)) {}

  // The tag of the frame that comes next. Does not count it: for a frame that is written down to
  // be sent later, if ever.
  std::string tag(std::string_view body) const;
  void count() { ++frames_; }
  // Whether the next frame is the sender's; counts it if so.
  bool check(std::string_view body, std::string_view tag);

 private:
  Mac mac_;
  std::string key_;
  std::uint64_t frames_ = 0;
};

}  // namespace muster::control
