// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which lines about strangers are shown: each kind once for each address, and never more than a few
// at a time, so that neither a client that calls for ever nor a scan from everywhere fills a disk.
// Knows no log and no clock.

#include "rendezvous/base/clock.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace muster::net {

class Complaints {
 public:
  // Whether the line is to be shown now. `kind` is any small number of the caller's.
  bool shows(unsigned kind, std::string_view address, TimePoint now);

 private:
  std::set<std::pair<unsigned, std::string>, std::less<>> said_;
  double lines_left_ = kBurst;
  TimePoint refilled_at_{};

  static constexpr double kBurst = 20;
  static constexpr std::chrono::seconds kOneMoreEvery{10};
  static constexpr std::size_t kMaxRemembered = 1'024;
};

}  // namespace muster::net
