// SPDX-License-Identifier: Apache-2.0
#pragma once
// The items of CBOR (RFC 8949) that control messages are made of: integers, text, arrays, maps,
// true, false and null, all of definite length. Straight to bytes and out of them, without a tree
// in between (why not a library's: README.md, "The codec"). Reading never goes beyond the bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::control::cbor {

enum class Kind : std::uint8_t {
  positive = 0,  // the number itself
  negative = 1,  // -1 - the number
  bytes = 2,
  text = 3,   // so many bytes follow
  array = 4,  // so many items follow
  map = 5,    // so many pairs follow
  tag = 6,
  simple = 7,
};

enum class Simple : std::uint8_t { no = 20, yes = 21, null = 22 };

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void head(Kind kind, std::uint64_t number);  // in the shortest form
  void text(std::string_view text) {
    head(Kind::text, text.size());
    out_.append(text);
  }
  void simple(Simple value) { head(Kind::simple, static_cast<std::uint64_t>(value)); }

 private:
  std::string& out_;
};

struct Head {
  Kind kind = Kind::simple;
  std::uint64_t number = 0;
  std::uint8_t more = 0;  // bytes after the first: a simple value has none, a float has some
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  // Nothing where the bytes end, or where a length is indefinite or reserved.
  std::optional<Head> head();
  // The text whose head was just read; nothing where the bytes end before it does.
  std::optional<std::string_view> take(std::uint64_t size);
  // The next item is null, and is taken.
  bool take_null();
  // Goes past one whole item that is nested at most so deep; false where there is none.
  bool skip(int depth);

  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace muster::control::cbor
