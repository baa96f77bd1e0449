// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/item_scan.hpp"

#include <cstring>
#include <string>

namespace muster::wire {

Result<bool> ItemScan::advance(std::string_view input, std::uint64_t count, std::size_t limit,
                               bool alternate) {
  while (done_ < count) {
    std::uint64_t size;
    if (input.size() - position_ < sizeof size) return false;
    std::memcpy(&size, input.data() + position_, sizeof size);
    auto const allowed = alternate && done_ % 2 == 1 ? limits::kMaxValueBytes : limit;
    if (size > allowed) return too_long(size, allowed);
    if (position_ + sizeof size + size > limits::kMaxRequestBytes)
      return too_long(position_ + sizeof size + size, limits::kMaxRequestBytes);
    if (input.size() - position_ - sizeof size < size) return false;
    position_ += sizeof size + size;
    ++done_;
  }
  return true;
}

std::string_view FieldReader::sized(std::size_t limit) {
  auto const size = number<std::uint64_t>();
  if (state_ != State::complete) return {};
  if (size > limit) {
    state_ = State::refused;
    seen_ = size;
    limit_ = limit;
    return {};
  }
  if (auto const bytes = in_.take(size)) return *bytes;
  state_ = State::incomplete;
  return {};
}

Error FieldReader::error() const {
  return too_long(seen_, limit_);
}

Error too_long(std::uint64_t seen, std::size_t limit) {
  return Error{
      Errc::limit,
      "a field of " + std::to_string(seen) + " bytes exceeds the limit of " + std::to_string(limit),
      {}};
}

}  // namespace muster::wire
