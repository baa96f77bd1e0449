// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/console_text.hpp"

namespace muster::launch {

void ConsoleText::put(std::string_view text, std::string& out) const {
  out += prefix_;
  out += text;
  out += '\n';
}

void ConsoleText::add(std::string_view line, TimePoint now, std::string& out) {
  if (prefix_.empty()) {
    out += line;
    return;
  }
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
    if (line.empty()) return;
    held_bar_ = line;
    if (bar_shown_ != TimePoint::min() && now - bar_shown_ < kBarPeriod) return;
    bar_shown_ = now;
    finish(out);
    return;
  }
  finish(out);
  out += prefix_;
  out += line;
  if (!line.ends_with('\n')) out += '\n';
}

void ConsoleText::finish(std::string& out) {
  if (!held_bar_.empty()) put(held_bar_, out);
  held_bar_.clear();
}

}  // namespace muster::launch
