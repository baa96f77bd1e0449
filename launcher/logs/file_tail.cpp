// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/file_tail.hpp"

#include "launcher/logs/line_splitter.hpp"
#include "launcher/logs/tail_ring.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;

}  // namespace

std::vector<std::string> tail_of_file(std::string const& path) {
  UniqueFd const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return {};
  auto const size = ::lseek(file.get(), 0, SEEK_END);
  auto const from = std::max<off_t>(0, size - static_cast<off_t>(kReadBytes));
  std::string bytes(kReadBytes, '\0');
  auto const got = ::pread(file.get(), bytes.data(), bytes.size(), from);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (from > 0) bytes.erase(0, bytes.find('\n') + 1);  // the first line is cut
  LineSplitter lines;
  TailRing tail;
  lines.feed(bytes, [&](std::string_view line) { tail.add(line); });
  lines.finish([&](std::string_view line) { tail.add(line); });
  return tail.lines();
}

}  // namespace muster::launch
