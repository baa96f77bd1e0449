// SPDX-License-Identifier: Apache-2.0
// A message is a map {"type", "header", "body"}. Two archives walk fields(): one writes CBOR, one
// reads it, both straight from and to the message's members.

#include "rendezvous/control/codec.hpp"

#include "rendezvous/base/names.hpp"
#include "rendezvous/control/cbor.hpp"
#include "rendezvous/control/fields.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

namespace muster::control {
namespace {

using namespace membership;
using cbor::Kind;
using cbor::Simple;

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kNames{
    "JOIN",    "LEASE",   "STORE_OPENED", "PROBED",       "PREPARED",  "STOPPED",
    "FAILED",  "DONE",    "OUTCOME_ACK",  "LEAVE",        "LAST_WORD", "WELCOME",
    "ACK",     "WAITING", "OPEN_STORE",   "PROBE",        "PREPARE",   "COMMIT",
    "STOP",    "OUTCOME", "REFUSED",      "EVICTED",      "RELEASED",  "RESIGNED",
    "HOST_IS", "ASK",     "ANSWER",       "VOTE_REQUEST", "VOTE_REPLY"};

constexpr std::size_t kTypicalBytes = 512;  // of most messages
constexpr int kMaxDepth = 10;
constexpr std::size_t kMaxList = 65'536;
constexpr std::size_t kMaxFields = 64;  // of one object; ours have at most half as many
constexpr std::int64_t kMaxDurationNs = std::int64_t{366} * 86'400 * 1'000'000'000;
// Moments and lengths of other clocks, which are added and subtracted: sums of two stay in range.
constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;
// Texts that are no names: what is told to people, as long as it has to be.
constexpr std::array<std::string_view, 6> kProse{"error", "hint", "report", "text", "what", "why"};

struct FieldCount {
  std::uint64_t count = 0;
  template <class T>
  void operator()(std::string_view, T&) {
    ++count;
  }
};

class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& bytes) : out_(bytes) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    out_.text(name);
    put(value);
  }

  void begin_object(std::uint64_t fields) { out_.head(Kind::map, fields); }
  void text(std::string_view text) { out_.text(text); }

  template <class T>
  void put(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.simple(value ? Simple::yes : Simple::no);
    } else if constexpr (std::is_integral_v<T>) {
      put_integer(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.text(value);
    } else {
      FieldCount counter;
      fields(counter, value);
      begin_object(counter.count);
      fields(*this, value);
    }
  }
  template <class Tag, class Rep>
  void put(Id<Tag, Rep>& id) {
    put_integer(id.value);
  }
  void put(Duration& duration) { put_integer(duration.count()); }
  void put(Errc& code) { out_.text(muster::name_of(code)); }
  void put(Reason& reason) { out_.text(membership::name_of(reason)); }
  template <class T>
  void put(std::optional<T>& value) {
    value ? put(*value) : out_.simple(Simple::null);
  }
  template <class T>
  void put(std::vector<T>& list) {
    out_.head(Kind::array, list.size());
    for (auto& entry : list) put(entry);
  }

 private:
  template <class T>
  void put_integer(T number) {
    // -1 - n of a negative n is its complement.
    if (std::is_signed_v<T> && number < 0)
      out_.head(Kind::negative, ~static_cast<std::uint64_t>(number));
    else
      out_.head(Kind::positive, static_cast<std::uint64_t>(number));
  }

  cbor::Writer out_;
};

// Bytes, and the first thing that is wrong with them; everything after it changes nothing.
class Input {
 public:
  explicit Input(std::string_view bytes) : in_(bytes) {}

  cbor::Reader& bytes() { return in_; }
  bool good() const { return wrong_.empty(); }
  std::string take_wrong() { return std::move(wrong_); }
  bool fail(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
    return false;
  }

  // False without a word: of another type or out of range, which whoever knows the name says.
  template <class T>
  bool get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      auto const head = in_.head();
      if (!head || head->kind != Kind::simple || head->more != 0) return false;
      value = head->number == static_cast<std::uint64_t>(Simple::yes);
      return value || head->number == static_cast<std::uint64_t>(Simple::no);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return get_integer(value) && value >= -kMaxNs && value <= kMaxNs;
    } else if constexpr (std::is_integral_v<T>) {
      return get_integer(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      auto const text = get_text();
      if (text) value = *text;
      return text.has_value();
    } else {
      return get_object([&value](auto& archive) { fields(archive, value); });
    }
  }
  bool get(std::string_view& text) {
    auto const got = get_text();
    text = got.value_or(std::string_view());
    return got.has_value();
  }
  template <class Tag, class Rep>
  bool get(Id<Tag, Rep>& id) {
    return get_integer(id.value);
  }
  bool get(Duration& duration) {
    std::int64_t count = 0;
    if (!get_integer(count) || count < 0 || count > kMaxDurationNs) return false;
    duration = Duration{count};
    return true;
  }
  bool get(JobSettings& job) {
    return get_object([&job](auto& archive) { fields(archive, job); }) && is_possible(job);
  }
  bool get(Errc& code) {
    return get_name(code, Errc::internal, [](Errc c) { return muster::name_of(c); });
  }
  bool get(Reason& reason) {
    return get_name(reason, Reason::outcome, [](Reason r) { return membership::name_of(r); });
  }
  template <class T>
  bool get(std::optional<T>& value) {
    value.reset();
    return in_.take_null() || get(value.emplace());
  }
  template <class T>
  bool get(std::vector<T>& list) {
    auto const head = in_.head();
    if (!head || head->kind != Kind::array || head->number > kMaxList) return false;
    list.clear();
    if (head->number > in_.left()) return false;  // an entry is a byte at least
    for (std::uint64_t i = 0; i < head->number; ++i)
      if (!get(list.emplace_back())) return false;
    return true;
  }

  // A map of the fields that `visit` names, all of them and no other.
  template <class Visit>
  bool get_object(Visit const& visit);

 private:
  std::optional<std::string_view> get_text() {
    auto const head = in_.head();
    if (!head || head->kind != Kind::text) return std::nullopt;
    return in_.take(head->number);
  }

  template <class T>
  bool get_integer(T& value) {
    auto const head = in_.head();
    if (!head || head->number > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
      return false;
    if (head->kind == Kind::positive) {
      value = static_cast<T>(head->number);
      return true;
    }
    if (head->kind != Kind::negative || std::is_unsigned_v<T>) return false;
    value = static_cast<T>(-1 - static_cast<std::int64_t>(head->number));
    return true;
  }

  template <class Enum, class Name>
  bool get_name(Enum& value, Enum last, Name const& name) {
    auto const text = get_text();
    if (!text) return false;
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (name(static_cast<Enum>(i)) == *text) {
        value = static_cast<Enum>(i);
        return true;
      }
    return false;
  }

  cbor::Reader in_;
  std::string wrong_;
};

// The fields of one map. As long as they come in the order in which ObjectWriter writes them each
// is read where it lies; otherwise the rest of the map is looked through once, and each is sought
// in it.
class ObjectReader {
 public:
  ObjectReader(Input& input, std::uint64_t count) : input_(input), left_(count) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    if (!input_.good() || !find(name)) return;
    if (!input_.get(value))
      input_.fail("field " + std::string(name) + " is of another type or out of range");
    if constexpr (std::is_same_v<T, std::string>)
      if (!is_name(value) && std::find(kProse.begin(), kProse.end(), name) == kProse.end())
        input_.fail("field " + std::string(name) + " is too long for a name, or none");
  }

  bool finish() {
    if (!input_.good()) return false;
    auto const rest = std::any_of(sought_.begin(), sought_.end(),
                                  [](Entry const& entry) { return !entry.taken; });
    if (left_ > 0 || rest) return input_.fail("a field that nobody knows");
    if (end_ > 0) input_.bytes().go_to(end_);
    return true;
  }

 private:
  struct Entry {
    std::string_view name;
    std::size_t at = 0;
    bool taken = false;
  };

  // Goes to the field's value.
  bool find(std::string_view name) {
    auto& in = input_.bytes();
    if (left_ > 0) {
      auto const here = in.position();
      std::string_view key;
      if (!input_.get(key)) return input_.fail("no name where one is expected");
      if (key == name) {
        --left_;
        return true;
      }
      in.go_to(here);
      if (!look_through()) return false;
    }
    for (auto& entry : sought_) {
      if (entry.taken || entry.name != name) continue;
      entry.taken = true;
      in.go_to(entry.at);
      return true;
    }
    return input_.fail("field " + std::string(name) + " is missing");
  }

  bool look_through() {
    auto& in = input_.bytes();
    if (left_ > kMaxFields) return input_.fail("a field that nobody knows");
    for (; left_ > 0; --left_) {
      auto& entry = sought_.emplace_back();
      if (!input_.get(entry.name)) return input_.fail("no name where one is expected");
      entry.at = in.position();
      if (!in.skip(kMaxDepth)) return input_.fail("not CBOR, or nested too deep");
    }
    end_ = in.position();
    return true;
  }

  Input& input_;
  std::uint64_t left_;  // not looked at yet
  std::vector<Entry> sought_;
  std::size_t end_ = 0;  // of the map, once it was looked through
};

template <class Visit>
bool Input::get_object(Visit const& visit) {
  auto const head = in_.head();
  if (!head || head->kind != Kind::map) return false;
  ObjectReader reader(*this, head->number);
  visit(reader);
  return reader.finish();
}

template <std::size_t... I>
bool emplace_by_index(Message& message, std::size_t index, std::index_sequence<I...>) {
  return ((I == index ? (message.emplace<I>(), true) : false) || ...);
}

bool emplace_by_name(Message& message, std::string_view name) {
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

std::string encode(Letter const& letter) {
  std::string bytes;
  bytes.reserve(kTypicalBytes);
  ObjectWriter writer(bytes);
  auto& open = const_cast<Letter&>(letter);  // fields() serves both directions; a writer reads
  writer.begin_object(3);
  writer.text("type");
  writer.text(name_of(letter.message));
  writer("header", open.header);
  std::visit([&writer](auto& body) { writer("body", body); }, open.message);
  return bytes;
}

Result<Letter> decode(std::string_view bytes) {
  Input input(bytes);
  Letter letter;
  std::string who;
  auto const whole = input.get_object([&](auto& archive) {
    std::string_view type;
    archive("type", type);
    if (!input.good()) return;
    if (!emplace_by_name(letter.message, type)) {
      input.fail("a type that nobody knows");
      return;
    }
    who = std::string(type) + ": ";
    archive("header", letter.header);
    std::visit([&archive](auto& body) { archive("body", body); }, letter.message);
  });
  if (whole && input.bytes().left() == 0) return letter;
  input.fail(whole ? "bytes after its end" : "no object of type, header and body");
  return malformed(who + input.take_wrong());
}

}  // namespace muster::control
