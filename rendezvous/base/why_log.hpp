// SPDX-License-Identifier: Apache-2.0
#pragma once
// Says a reason when it changes, not each time it is noted.

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

class WhyLog {
 public:
  explicit WhyLog(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

  void note(std::string why) {
    if (why == last_) return;
    sink_(why);
    last_ = std::move(why);
  }

 private:
  std::function<void(std::string_view)> sink_;
  std::string last_;
};

}  // namespace muster
