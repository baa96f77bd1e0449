// SPDX-License-Identifier: Apache-2.0
// A message is an object {"type", "header", "body"}. Two archives walk fields(): one builds JSON
// values, one takes them apart; nlohmann/json turns those into CBOR.

#include "rendezvous/control/codec.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/control/fields.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <limits>
#include <type_traits>

namespace muster::control {
namespace {

using nlohmann::json;
using namespace membership;

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kNames{
    "JOIN",    "LEASE",       "STORE_OPENED", "PREPARED",  "STOPPED", "FAILED",
    "DONE",    "OUTCOME_ACK", "LEAVE",        "LAST_WORD", "WELCOME", "ACK",
    "WAITING", "OPEN_STORE",  "PREPARE",      "COMMIT",    "STOP",    "OUTCOME",
    "REFUSED", "DEPOSED",     "VOTE_REQUEST", "VOTE_REPLY"};

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxList = 65'536;
constexpr std::int64_t kMaxDurationNs = std::int64_t{366} * 86'400 * 1'000'000'000;

struct Writer {
  json object = json::object();

  template <class T>
  void operator()(char const* name, T& value) {
    object[name] = to_json(value);
  }

  template <class T>
  static json to_json(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer inner;
      fields(inner, value);
      return std::move(inner.object);
    }
  }
  template <class Tag, class Rep>
  static json to_json(Id<Tag, Rep>& id) {
    return id.value;
  }
  static json to_json(Duration& duration) { return duration.count(); }
  static json to_json(Errc& code) { return std::string(muster::name_of(code)); }
  static json to_json(Reason& reason) { return std::string(membership::name_of(reason)); }
  template <class T>
  static json to_json(std::optional<T>& value) {
    return value ? to_json(*value) : json(nullptr);
  }
  template <class T>
  static json to_json(std::vector<T>& list) {
    auto array = json::array();
    for (auto& entry : list) array.push_back(to_json(entry));
    return array;
  }
};

// Remembers the first thing that is wrong; goes on harmlessly after it.
struct Reader {
  json const& object;
  std::string& wrong;
  std::size_t seen = 0;

  template <class T>
  void operator()(char const* name, T& value) {
    if (!wrong.empty()) return;
    auto const found = object.find(name);
    if (found == object.end()) {
      wrong = std::string("field ") + name + " is missing";
      return;
    }
    ++seen;
    if (!from_json(*found, value, wrong) && wrong.empty())
      wrong = std::string("field ") + name + " is of another type or out of range";
  }

  template <class T>
  static bool read_object(json const& from, T& value, std::string& wrong) {
    if (!from.is_object()) return false;
    Reader inner{from, wrong};
    fields(inner, value);
    if (wrong.empty() && inner.seen != from.size()) wrong = "a field that nobody knows";
    return wrong.empty();
  }

  template <class T>
  static bool from_json(json const& from, T& value, std::string& wrong) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return false;
      value = from.get<bool>();
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      return read_integer(from, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.is_string()) return false;
      value = from.get_ref<std::string const&>();
      return true;
    } else {
      return read_object(from, value, wrong);
    }
  }

  template <class T>
  static bool read_integer(json const& from, T& value) {
    if (from.is_number_unsigned()) {
      auto const number = from.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
      value = static_cast<T>(number);
      return true;
    }
    if (!from.is_number_integer() || std::is_unsigned_v<T>) return false;
    auto const number = from.get<std::int64_t>();
    if (number < static_cast<std::int64_t>(std::numeric_limits<T>::min())) return false;
    value = static_cast<T>(number);
    return true;
  }

  template <class Tag, class Rep>
  static bool from_json(json const& from, Id<Tag, Rep>& id, std::string&) {
    return read_integer(from, id.value);
  }

  static bool from_json(json const& from, Duration& duration, std::string&) {
    std::int64_t count = 0;
    if (!read_integer(from, count) || count < 0 || count > kMaxDurationNs) return false;
    duration = Duration{count};
    return true;
  }

  template <class Enum, class Name>
  static bool read_name(json const& from, Enum& value, Enum last, Name const& name) {
    if (!from.is_string()) return false;
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (name(static_cast<Enum>(i)) == from.get_ref<std::string const&>()) {
        value = static_cast<Enum>(i);
        return true;
      }
    return false;
  }
  static bool from_json(json const& from, Errc& code, std::string&) {
    return read_name(from, code, Errc::internal, [](Errc c) { return muster::name_of(c); });
  }
  static bool from_json(json const& from, Reason& reason, std::string&) {
    return read_name(from, reason, Reason::outcome,
                     [](Reason r) { return membership::name_of(r); });
  }

  template <class T>
  static bool from_json(json const& from, std::optional<T>& value, std::string& wrong) {
    if (from.is_null()) {
      value.reset();
      return true;
    }
    return from_json(from, value.emplace(), wrong);
  }

  template <class T>
  static bool from_json(json const& from, std::vector<T>& list, std::string& wrong) {
    if (!from.is_array() || from.size() > kMaxList) return false;
    list.clear();
    for (auto const& entry : from)
      if (!from_json(entry, list.emplace_back(), wrong)) return false;
    return true;
  }
};

// The CBOR parser recurses by nesting: depth is bounded before it builds anything.
class DepthGuard final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, string_t const&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, std::string const&, nlohmann::detail::exception const&) override {
    return false;
  }

 private:
  int depth_ = 0;
};

template <std::size_t... I>
bool emplace_by_index(Message& message, std::size_t index, std::index_sequence<I...>) {
  return ((I == index ? (message.emplace<I>(), true) : false) || ...);
}

bool emplace_by_name(Message& message, std::string const& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name)
      return emplace_by_index(message, i, std::make_index_sequence<kNames.size()>{});
  return false;
}

Error malformed(std::string what) {
  return {Errc::protocol, "malformed control message: " + std::move(what), ""};
}

}  // namespace

std::string_view name_of(Message const& message) {
  return kNames[message.index()];
}

std::string encode(Letter letter) {
  json object;
  object["type"] = std::string(name_of(letter.message));
  object["header"] = Writer::to_json(letter.header);
  object["body"] = std::visit([](auto& body) { return Writer::to_json(body); }, letter.message);
  std::string bytes;
  json::to_cbor(object, bytes);
  return bytes;
}

Result<Letter> decode(std::string_view body) {
  DepthGuard guard;
  if (!json::sax_parse(body.begin(), body.end(), &guard, json::input_format_t::cbor))
    return malformed("not CBOR, or nested too deep");
  auto const object = json::from_cbor(body.begin(), body.end(), true, false);
  if (!object.is_object() || object.size() != 3 || !object.contains("type") ||
      !object.contains("header") || !object.contains("body") || !object["type"].is_string())
    return malformed("no object of type, header and body");
  Letter letter;
  auto const& type = object["type"].get_ref<std::string const&>();
  if (!emplace_by_name(letter.message, type)) return malformed("a type that nobody knows");
  std::string wrong;
  auto const whole =
      Reader::read_object(object["header"], letter.header, wrong) &&
      std::visit([&](auto& value) { return Reader::read_object(object["body"], value, wrong); },
                 letter.message);
  if (!whole) return malformed(type + ": " + (wrong.empty() ? "no object" : wrong));
  return letter;
}

}  // namespace muster::control
