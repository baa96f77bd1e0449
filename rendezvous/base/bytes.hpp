// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds-checked reading and writing of fixed-size little-endian numbers and length-prefixed
// strings: TCPStore's encoding (torch/csrc/distributed/c10d: native order, little-endian on every
// machine PyTorch supports).

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace muster {

static_assert(std::endian::native == std::endian::little,
              "muster's wire codecs assume a little-endian machine");

// Reads from a view that must outlive it. Every read either succeeds whole or returns nothing and
// moves nothing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_integral_v<T> std::optional<T> number() {
    if (left() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }

  std::optional<std::string_view> take(std::size_t count) {
    if (left() < count) return std::nullopt;
    auto const view = bytes_.substr(position_, count);
    position_ += count;
    return view;
  }

  std::size_t left() const { return bytes_.size() - position_; }
  std::size_t position() const { return position_; }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

// Appends to a string that must outlive it.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <class T>
  requires std::is_integral_v<T>
  void number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, sizeof value);
  }

  void raw(std::string_view bytes) { out_.append(bytes); }

  // u64 length, then the bytes.
  void sized(std::string_view bytes) {
    number<std::uint64_t>(bytes.size());
    raw(bytes);
  }

 private:
  std::string& out_;
};

}  // namespace muster
