// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/pickle_writer.hpp"

#include "rendezvous/base/bytes.hpp"

#include <bit>
#include <limits>
#include <map>

namespace muster::torchrun::pickle {
namespace {

constexpr std::size_t kWorthRemembering = 2;  // bytes; a reference takes two to five

// The same for equal values, and only for them.
void fingerprint(Value const& value, std::string& out) {
  ByteWriter writer{out};
  out.push_back(static_cast<char>(value.kind));
  out.push_back(static_cast<char>(value.global));
  writer.number(value.number);
  writer.number(std::bit_cast<std::uint64_t>(value.real));
  writer.sized(value.bytes);
  writer.number(static_cast<std::uint64_t>(value.items.size()));
  for (auto const& item : value.items) fingerprint(item, out);
}

class Writer {
 public:
  std::string run(Value const& value) {
    out_ = "\x80\x04";
    write(value);
    out_.push_back('.');
    return std::move(out_);
  }

 private:
  void write(Value const& value);
  void integer(std::int64_t value);
  void real(double value);
  void string(Value const& value);
  void text(std::string const& value);
  void global(Global which);
  void tuple(std::vector<Value> const& items);
  void batch(Value const& value, char const* empty, char const* end);
  void object(Value const& value);
  void call(Value const& value);
  bool recall(std::string const& key);
  void remember(std::string key);

  std::string out_;
  std::map<std::string, std::uint32_t> memo_;
};

void Writer::write(Value const& value) {
  switch (value.kind) {
    case Kind::none:
      return out_.push_back('N');
    case Kind::boolean:
      return out_.push_back(value.number != 0 ? '\x88' : '\x89');
    case Kind::integer:
      return integer(value.number);
    case Kind::real:
      return real(value.real);
    case Kind::text:
      return text(value.bytes);
    case Kind::bytes:
      return string(value);
    case Kind::tuple:
      return tuple(value.items);
    case Kind::list:
      return batch(value, "]", "e");
    case Kind::set:
      return batch(value, "\x8f", "\x90");
    case Kind::dict:
      return batch(value, "}", "u");
    case Kind::object:
      return object(value);
    case Kind::call:
      return call(value);
    case Kind::global:
      return global(value.global);
  }
}

void Writer::integer(std::int64_t value) {
  ByteWriter writer{out_};
  if (value >= 0 && value <= 0xff) {
    out_.push_back('K');
    writer.number(static_cast<std::uint8_t>(value));
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    out_.push_back('J');
    writer.number(static_cast<std::int32_t>(value));
  } else {
    out_.append("\x8a\x08");
    writer.number(value);
  }
}

void Writer::real(double value) {
  out_.push_back('G');
  auto const bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(bits >> shift));
}

void Writer::string(Value const& value) {
  ByteWriter writer{out_};
  if (value.bytes.size() <= 0xff) {
    out_.push_back('C');
    writer.number(static_cast<std::uint8_t>(value.bytes.size()));
    writer.raw(value.bytes);
  } else {
    out_.push_back('\x8e');
    writer.sized(value.bytes);
  }
}

void Writer::text(std::string const& value) {
  auto const key = "t" + value;
  if (recall(key)) return;
  ByteWriter writer{out_};
  if (value.size() <= 0xff) {
    out_.push_back('\x8c');
    writer.number(static_cast<std::uint8_t>(value.size()));
    writer.raw(value);
  } else {
    out_.push_back('\x8d');
    writer.sized(value);
  }
  if (value.size() >= kWorthRemembering) remember(key);
}

void Writer::global(Global which) {
  for (auto const& known : kGlobals) {
    if (known.global != which) continue;
    auto const key = "c" + std::string(known.name);
    if (recall(key)) return;
    text(std::string(known.module));
    text(std::string(known.name));
    out_.push_back('\x93');
    return remember(key);
  }
}

void Writer::tuple(std::vector<Value> const& items) {
  if (items.empty()) return out_.push_back(')');
  if (items.size() > 3) out_.push_back('(');
  for (auto const& item : items) write(item);
  constexpr char kBySize[] = {'\x85', '\x86', '\x87'};
  out_.push_back(items.size() > 3 ? 't' : kBySize[items.size() - 1]);
}

void Writer::batch(Value const& value, char const* empty, char const* end) {
  out_.append(empty);
  if (value.items.empty()) return;
  out_.push_back('(');
  for (auto const& item : value.items) write(item);
  out_.append(end);
}

// Nodes occur again and again: in the list that they are in, and with their heartbeats.
void Writer::object(Value const& value) {
  std::string key;
  if (value.global == Global::node_desc) {
    key = "n";
    fingerprint(value, key);
    if (recall(key)) return;
  }
  global(value.global);
  out_.append(")\x81");
  for (auto const& state : value.items) {
    write(state);
    out_.push_back('b');
  }
  if (!key.empty()) remember(std::move(key));
}

// All times have one zone.
void Writer::call(Value const& value) {
  std::string key;
  if (value.global == Global::timezone) {
    key = "z";
    fingerprint(value, key);
    if (recall(key)) return;
  }
  global(value.global);
  tuple(value.items);
  out_.push_back('R');
  if (!key.empty()) remember(std::move(key));
}

bool Writer::recall(std::string const& key) {
  auto const found = memo_.find(key);
  if (found == memo_.end()) return false;
  ByteWriter writer{out_};
  if (found->second <= 0xff) {
    out_.push_back('h');
    writer.number(static_cast<std::uint8_t>(found->second));
  } else {
    out_.push_back('j');
    writer.number(found->second);
  }
  return true;
}

void Writer::remember(std::string key) {
  out_.push_back('\x94');
  auto const slot = static_cast<std::uint32_t>(memo_.size());
  memo_.emplace(std::move(key), slot);
}

}  // namespace

std::string write(Value const& value) {
  return Writer().run(value);
}

}  // namespace muster::torchrun::pickle
