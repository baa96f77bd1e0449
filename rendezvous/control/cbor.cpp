// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/cbor.hpp"

namespace muster::control::cbor {
namespace {

// A first byte is three bits of kind and five that are the number itself or say how many bytes of
// it follow.
constexpr unsigned kKindShift = 5;
constexpr std::uint8_t kInfoMask = 0x1f;
constexpr std::uint8_t kOneByte = 24, kEightBytes = 27;

}  // namespace

void Writer::head(Kind kind, std::uint64_t number) {
  auto const first = [kind](std::uint64_t info) {
    return static_cast<char>(static_cast<unsigned>(kind) << kKindShift |
                             static_cast<unsigned>(info));
  };
  if (number < kOneByte) return out_.push_back(first(number));
  unsigned log = 0;  // of how many bytes the number takes
  while (log < 3 && number >> (8u << log) != 0) ++log;
  auto const size = 1u << log;
  char bytes[1 + sizeof number];
  bytes[0] = first(kOneByte + log);
  for (unsigned i = 0; i < size; ++i)
    bytes[1 + i] = static_cast<char>(number >> (8 * (size - 1 - i)));
  out_.append(bytes, 1 + size);
}

std::optional<Head> Reader::head() {
  if (left() == 0) return std::nullopt;
  auto const first = static_cast<std::uint8_t>(bytes_[at_++]);
  Head head;
  head.kind = static_cast<Kind>(first >> kKindShift);
  std::uint8_t const info = first & kInfoMask;
  if (info < kOneByte) {
    head.number = info;
    return head;
  }
  if (info > kEightBytes) return std::nullopt;
  head.more = static_cast<std::uint8_t>(1u << (info - kOneByte));
  auto const number = take(head.more);
  if (!number) return std::nullopt;
  for (char const byte : *number) head.number = head.number << 8 | static_cast<std::uint8_t>(byte);
  return head;
}

std::optional<std::string_view> Reader::take(std::uint64_t size) {
  if (size > left()) return std::nullopt;
  auto const taken = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += taken.size();
  return taken;
}

bool Reader::take_null() {
  constexpr auto kNull = static_cast<char>(static_cast<unsigned>(Kind::simple) << kKindShift |
                                           static_cast<unsigned>(Simple::null));
  if (left() == 0 || bytes_[at_] != kNull) return false;
  ++at_;
  return true;
}

bool Reader::skip(int depth) {
  auto const item = head();
  if (!item) return false;
  switch (item->kind) {
    case Kind::positive:
    case Kind::negative:
    case Kind::simple:
      return true;
    case Kind::bytes:
    case Kind::text:
      return take(item->number).has_value();
    case Kind::array:
    case Kind::map:
      break;
    case Kind::tag:
      return false;
  }
  if (depth == 0 || item->number > left()) return false;
  auto const items = item->kind == Kind::map ? 2 * item->number : item->number;
  for (std::uint64_t i = 0; i < items; ++i)
    if (!skip(depth - 1)) return false;
  return true;
}

}  // namespace muster::control::cbor
