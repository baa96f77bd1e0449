// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/complaints.hpp"

#include <algorithm>

namespace muster::net {

bool Complaints::shows(unsigned kind, std::string_view address, TimePoint now) {
  std::pair<unsigned, std::string> key(kind, address);
  if (said_.contains(key)) return false;
  auto const passed = std::chrono::duration<double>(now - std::max(refilled_at_, TimePoint{}));
  lines_left_ =
      std::min(kBurst, lines_left_ + passed / std::chrono::duration<double>(kOneMoreEvery));
  refilled_at_ = now;
  if (lines_left_ < 1) return false;
  --lines_left_;
  if (said_.size() >= kMaxRemembered) said_.clear();
  said_.insert(std::move(key));
  return true;
}

}  // namespace muster::net
