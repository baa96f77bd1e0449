// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last lines of one worker's stderr, for the failure report. Bounded in lines and in bytes a
// line. A progress bar counts as one line: each "\r" replaces the last one.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

class TailRing {
 public:
  static constexpr std::size_t kLines = 30;
  static constexpr std::size_t kLongest = 2'000;

  // A line with its ending, as LineSplitter emits it.
  void add(std::string_view line) {
    bool const overwritten = line.ends_with('\r');
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (last_overwritten_ && !lines_.empty()) lines_.pop_back();
    last_overwritten_ = overwritten;
    lines_.emplace_back(line.substr(0, kLongest));
    if (lines_.size() > kLines) lines_.pop_front();
  }

  std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  std::deque<std::string> lines_;
  bool last_overwritten_ = false;
};

}  // namespace muster::launch
