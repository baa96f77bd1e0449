// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes to lines, however they were cut into reads. A line ends with "\n", "\r\n" or, for progress
// bars, with a lone "\r". Nothing is decoded. Bounded: a longer line is passed on in pieces.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::launch {

inline constexpr std::size_t kLongestLine = 64 * 1024;

class LineSplitter {
 public:
  // Calls emit(line) for each complete line, its ending included. The views live until emit
  // returns.
  template <class Emit>
  void feed(std::string_view bytes, Emit&& emit);

  // What is left without an ending (the stream is at its end), if anything.
  template <class Emit>
  void finish(Emit&& emit) {
    if (!rest_.empty()) emit(std::string_view(rest_));
    rest_.clear();
  }

 private:
  // Length of the first line with its ending; 0 if `bytes` holds no complete one. A "\r" that is
  // the last byte waits: "\n" may follow.
  static std::size_t line_length(std::string_view bytes) {
    auto const end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) return 0;
    if (bytes[end] == '\n') return end + 1;
    if (end + 1 == bytes.size()) return 0;
    return bytes[end + 1] == '\n' ? end + 2 : end + 1;
  }

  std::string rest_;
};

template <class Emit>
void LineSplitter::feed(std::string_view bytes, Emit&& emit) {
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_);
    rest_.clear();
    joined.append(bytes);
    bytes = joined;
  }
  while (!bytes.empty()) {
    auto length = line_length(bytes.substr(0, kLongestLine));
    if (length == 0 && bytes.size() >= kLongestLine) length = kLongestLine;
    if (length == 0) break;
    emit(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  rest_.assign(bytes);
}

}  // namespace muster::launch
