// SPDX-License-Identifier: Apache-2.0
#pragma once
// One worker stream's lines as they appear on the console. Without a prefix the bytes stay as they
// are. With one, a progress bar ("\r") becomes lines of its own, thinned, since bars of several
// ranks would overwrite each other. Pure: the time comes in.

#include "rendezvous/base/clock.hpp"

#include <string>
#include <string_view>

namespace muster::launch {

class ConsoleText {
 public:
  explicit ConsoleText(std::string prefix) : prefix_(std::move(prefix)) {}

  // Appends what is to be printed for `line` (with its ending, as LineSplitter emits it). The last
  // state of a bar is always shown, at the latest before the next whole line.
  void add(std::string_view line, TimePoint now, std::string& out);
  // The stream is at its end.
  void finish(std::string& out);

 private:
  void put(std::string_view text, std::string& out) const;

  std::string prefix_;
  std::string held_bar_;
  TimePoint bar_shown_ = TimePoint::min();
};

// At most one state of a bar per stream in this time.
inline constexpr Duration kBarPeriod = std::chrono::seconds{1};

}  // namespace muster::launch
