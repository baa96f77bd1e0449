// SPDX-License-Identifier: Apache-2.0
// A stack machine, as Python's own. Objects live in an arena and refer to each other by number, so
// that what was remembered (memo) and is filled later is the same object; at the end the tree is
// copied out of it, with bounds on depth and size: a cycle is too deep, a bomb too large.

#include "rendezvous/torchrun/pickle_reader.hpp"

#include "rendezvous/base/bytes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace muster::torchrun::pickle {
namespace {

using ObjectId = std::uint32_t;

constexpr std::size_t kLongestEncoded = 64;  // protocol 2 encodes the ten bytes of a time

struct Object {
  Kind kind = Kind::none;
  Global global = Global::set;
  std::int64_t number = 0;
  double real = 0;
  std::string_view bytes;       // of the input
  std::string own_bytes;        // where the input does not hold them as they are
  std::vector<ObjectId> items;  // of containers
};

enum Opcode : unsigned char {
  kProto = 0x80,
  kFrame = 0x95,
  kStop = '.',
  kMark = '(',
  kNone = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kLong1 = 0x8a,
  kFloat = 'G',
  kText4 = 'X',
  kText1 = 0x8c,
  kText8 = 0x8d,
  kBytes4 = 'B',
  kBytes1 = 'C',
  kBytes8 = 0x8e,
  kGlobalLines = 'c',
  kGlobalStack = 0x93,
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kNewObject = 0x81,
  kReduce = 'R',
  kBuild = 'b',
  kMemoize = 0x94,
  kPut1 = 'q',
  kPut4 = 'r',
  kGet1 = 'h',
  kGet4 = 'j',
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : in_(bytes) {}
  Result<Value> run();

 private:
  bool step(unsigned char opcode);  // false: wrong_ says why
  bool scalar(unsigned char opcode);
  bool container(unsigned char opcode);
  bool instance(unsigned char opcode);
  bool memo(unsigned char opcode);

  bool fail(char const* why) {
    if (wrong_.empty()) wrong_ = why;
    return false;
  }
  bool push(Object object);
  bool push_id(ObjectId id) {
    stack_.push_back(id);
    return true;
  }
  bool integer(std::int64_t value);
  bool string(Kind kind, std::optional<std::uint64_t> size);
  bool long_integer();
  bool real();
  bool global(std::string_view module, std::string_view name);
  bool global_of_lines();
  bool tuple(std::size_t size);
  bool fill(Kind kind, std::size_t size, bool in_pairs);
  bool reduce();
  bool new_object();
  bool build();
  bool latin1(Object const& arguments);
  bool remember(std::uint32_t slot);
  bool recall(std::optional<std::uint32_t> slot);
  bool expand(ObjectId id, int depth, Value& out);
  bool spend(std::size_t copies);

  // Objects above the last mark; nothing without one.
  std::optional<std::size_t> above_mark();
  bool pop(ObjectId& id);
  bool is(ObjectId id, Kind kind) const { return objects_[id].kind == kind; }

  ByteReader in_;
  std::vector<Object> objects_;
  std::vector<ObjectId> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, ObjectId> memo_;
  std::size_t expanded_ = 0, expanded_bytes_ = 0;
  std::size_t copied_ = 0;
  std::string wrong_;
};

Result<Value> Machine::run() {
  for (;;) {
    auto const at = in_.position();
    auto const opcode = in_.number<std::uint8_t>();
    if (opcode == kStop) break;
    if (!opcode || !step(*opcode)) {
      if (wrong_.empty()) wrong_ = "it ends too early";
      return Error{Errc::corrupt, "pickle, byte " + std::to_string(at) + ": " + wrong_, {}};
    }
  }
  ObjectId root = 0;
  Value value;
  if (!pop(root) || !stack_.empty() || !marks_.empty())
    return Error{Errc::corrupt, "pickle: it does not end with one object", {}};
  if (!expand(root, 0, value)) return Error{Errc::limit, "pickle: " + wrong_, {}};
  return value;
}

bool Machine::step(unsigned char opcode) {
  switch (opcode) {
    case kProto: {
      auto const version = in_.number<std::uint8_t>();
      return version && *version >= 2 && *version <= 5 ? true : fail("an unknown protocol");
    }
    case kFrame:
      return in_.number<std::uint64_t>().has_value();
    case kMark:
      marks_.push_back(stack_.size());
      return marks_.size() <= kMaxDepth * 2 ? true : fail("too many marks");
    case kMemoize:
    case kPut1:
    case kPut4:
    case kGet1:
    case kGet4:
      return memo(opcode);
    case kGlobalLines:
    case kGlobalStack:
    case kNewObject:
    case kReduce:
    case kBuild:
      return instance(opcode);
    case kEmptyTuple:
    case kTuple:
    case kTuple1:
    case kTuple2:
    case kTuple3:
    case kEmptyList:
    case kAppend:
    case kAppends:
    case kEmptyDict:
    case kSetItem:
    case kSetItems:
    case kEmptySet:
    case kAddItems:
      return container(opcode);
    default:
      return scalar(opcode);
  }
}

bool Machine::scalar(unsigned char opcode) {
  switch (opcode) {
    case kNone:
      return push({});
    case kTrue:
    case kFalse: {
      Object object;
      object.kind = Kind::boolean;
      object.number = opcode == kTrue ? 1 : 0;
      return push(std::move(object));
    }
    case kInt4: {
      auto const value = in_.number<std::int32_t>();
      return value && integer(*value);
    }
    case kInt1: {
      auto const value = in_.number<std::uint8_t>();
      return value && integer(*value);
    }
    case kInt2: {
      auto const value = in_.number<std::uint16_t>();
      return value && integer(*value);
    }
    case kLong1:
      return long_integer();
    case kFloat:
      return real();
    case kText1:
      return string(Kind::text, in_.number<std::uint8_t>());
    case kText4:
      return string(Kind::text, in_.number<std::uint32_t>());
    case kText8:
      return string(Kind::text, in_.number<std::uint64_t>());
    case kBytes1:
      return string(Kind::bytes, in_.number<std::uint8_t>());
    case kBytes4:
      return string(Kind::bytes, in_.number<std::uint32_t>());
    case kBytes8:
      return string(Kind::bytes, in_.number<std::uint64_t>());
    default:
      return fail("an opcode that no round state needs");
  }
}

bool Machine::container(unsigned char opcode) {
  Object object;
  switch (opcode) {
    case kEmptyTuple:
      return tuple(0);
    case kTuple1:
      return tuple(1);
    case kTuple2:
      return tuple(2);
    case kTuple3:
      return tuple(3);
    case kTuple: {
      auto const size = above_mark();
      return size ? tuple(*size) : fail("a tuple without a mark");
    }
    case kEmptyList:
    case kEmptyDict:
    case kEmptySet:
      object.kind = opcode == kEmptyList   ? Kind::list
                    : opcode == kEmptyDict ? Kind::dict
                                           : Kind::set;
      return push(std::move(object));
    case kAppend:
      return fill(Kind::list, 1, false);
    case kSetItem:
      return fill(Kind::dict, 2, true);
    default: {
      auto const size = above_mark();
      if (!size) return fail("items without a mark");
      auto const kind = opcode == kAppends    ? Kind::list
                        : opcode == kSetItems ? Kind::dict
                                              : Kind::set;
      return fill(kind, *size, kind == Kind::dict);
    }
  }
}

bool Machine::instance(unsigned char opcode) {
  if (opcode == kReduce) return reduce();
  if (opcode == kNewObject) return new_object();
  if (opcode == kBuild) return build();
  if (opcode == kGlobalLines) return global_of_lines();
  ObjectId name = 0, module = 0;
  if (!pop(name) || !pop(module) || !is(name, Kind::text) || !is(module, Kind::text))
    return fail("a class that is not named by two strings");
  return global(objects_[module].bytes, objects_[name].bytes);
}

bool Machine::memo(unsigned char opcode) {
  switch (opcode) {
    case kMemoize:
      return remember(static_cast<std::uint32_t>(memo_.size()));
    case kPut1: {
      auto const slot = in_.number<std::uint8_t>();
      return slot && remember(*slot);
    }
    case kPut4: {
      auto const slot = in_.number<std::uint32_t>();
      return slot && remember(*slot);
    }
    case kGet1: {
      auto const slot = in_.number<std::uint8_t>();
      return slot && recall(*slot);
    }
    default:
      return recall(in_.number<std::uint32_t>());
  }
}

bool Machine::push(Object object) {
  if (objects_.size() >= kMaxObjects) return fail("too many objects");
  objects_.push_back(std::move(object));
  return push_id(static_cast<ObjectId>(objects_.size() - 1));
}

bool Machine::integer(std::int64_t value) {
  Object object;
  object.kind = Kind::integer;
  object.number = value;
  return push(std::move(object));
}

bool Machine::string(Kind kind, std::optional<std::uint64_t> size) {
  if (!size) return false;
  auto const bytes = in_.take(std::min<std::uint64_t>(*size, kMaxPickleBytes));
  if (!bytes || bytes->size() != *size) return fail("a string longer than what follows");
  Object object;
  object.kind = kind;
  object.bytes = *bytes;
  return push(std::move(object));
}

// Little-endian two's complement.
bool Machine::long_integer() {
  auto const size = in_.number<std::uint8_t>();
  if (!size) return false;
  if (*size > sizeof(std::int64_t)) return fail("an integer of more than 64 bits");
  auto const bytes = in_.take(*size);
  if (!bytes) return false;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes->size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>((*bytes)[i])} << (8 * i);
  auto const negative = !bytes->empty() && static_cast<unsigned char>(bytes->back()) >= 0x80;
  for (auto i = bytes->size(); negative && i < sizeof value; ++i)
    value |= std::uint64_t{0xff} << (8 * i);
  return integer(static_cast<std::int64_t>(value));
}

bool Machine::real() {
  auto const bytes = in_.take(8);
  if (!bytes) return false;
  std::uint64_t bits = 0;
  for (auto const byte : *bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
  Object object;
  object.kind = Kind::real;
  object.real = std::bit_cast<double>(bits);
  if (object.real != object.real) return fail("a number that is none");
  return push(std::move(object));
}

bool Machine::global(std::string_view module, std::string_view name) {
  auto const* const found = std::find_if(kGlobals.begin(), kGlobals.end(), [&](auto const& known) {
    return known.module == module && known.name == name;
  });
  if (found == kGlobals.end()) return fail("a name that no round state needs");
  Object object;
  object.kind = Kind::global;
  object.global = found->global;
  return push(std::move(object));
}

bool Machine::global_of_lines() {
  constexpr std::size_t kLongestLine = 80;
  std::string_view lines[2];
  for (auto& line : lines) {
    auto rest = in_;
    std::size_t size = 0;
    for (auto byte = rest.number<char>(); byte != '\n'; byte = rest.number<char>())
      if (!byte || ++size > kLongestLine) return fail("a name without an end");
    line = *in_.take(size);
    if (!in_.take(1)) return false;
  }
  return global(lines[0], lines[1]);
}

std::optional<std::size_t> Machine::above_mark() {
  if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
  auto const size = stack_.size() - marks_.back();
  marks_.pop_back();
  return size;
}

bool Machine::pop(ObjectId& id) {
  if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size()))
    return fail("an operation on nothing");
  id = stack_.back();
  stack_.pop_back();
  return true;
}

bool Machine::tuple(std::size_t size) {
  if (stack_.size() < size) return fail("a tuple of more than there is");
  Object object;
  object.kind = Kind::tuple;
  object.items.assign(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
  stack_.resize(stack_.size() - size);
  return push(std::move(object));
}

// The uppermost `size` objects go into the container below them.
bool Machine::fill(Kind kind, std::size_t size, bool in_pairs) {
  if (stack_.size() < size + 1 || (in_pairs && size % 2 != 0))
    return fail("items for no container");
  auto const first = stack_.end() - static_cast<std::ptrdiff_t>(size);
  auto& target = objects_[*(first - 1)];
  if (target.kind != kind) return fail("items for another kind of container");
  target.items.insert(target.items.end(), first, stack_.end());
  stack_.resize(stack_.size() - size);
  return true;
}

// What lies in one object may be copied by each of many short opcodes.
bool Machine::spend(std::size_t copies) {
  copied_ += copies;
  return copied_ <= kMaxObjects ? true : fail("the same items are used too often");
}

bool Machine::reduce() {
  ObjectId arguments = 0, function = 0;
  if (!pop(arguments) || !pop(function) || !is(function, Kind::global) ||
      !is(arguments, Kind::tuple))
    return fail("a call of no function");
  auto const& given = objects_[arguments].items;
  Object made;
  made.kind = Kind::call;
  made.global = objects_[function].global;
  switch (made.global) {
    case Global::datetime:
    case Global::timezone:
    case Global::timedelta:
      if (!spend(given.size())) return false;
      made.items = given;
      return push(std::move(made));
    case Global::set:
      if (given.size() != 1 || !is(given[0], Kind::list)) return fail("a set of no list");
      if (!spend(objects_[given[0]].items.size())) return false;
      made.kind = Kind::set;
      made.items = objects_[given[0]].items;
      return push(std::move(made));
    case Global::encode:
      return latin1(objects_[arguments]);
    case Global::rendezvous_state:
    case Global::node_desc:
      break;
  }
  return fail("a call of a class that is never called");
}

// Protocol 2 has no bytes: it writes a call that makes them of the text with the same code points.
bool Machine::latin1(Object const& arguments) {
  if (arguments.items.size() != 2 || !is(arguments.items[0], Kind::text) ||
      objects_[arguments.items[1]].bytes != "latin1")
    return fail("an encoding other than latin1");
  Object made;
  made.kind = Kind::bytes;
  auto const text = objects_[arguments.items[0]].bytes;
  if (text.size() > kLongestEncoded) return fail("too long an encoded string");
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      made.own_bytes.push_back(text[i]);
    } else if ((byte == 0xc2 || byte == 0xc3) && i + 1 < text.size()) {
      auto const low = static_cast<unsigned char>(text[++i]) & 0x3fU;
      made.own_bytes.push_back(static_cast<char>((byte & 3U) << 6 | low));
    } else {
      return fail("bytes above 255");
    }
  }
  return push(std::move(made));
}

bool Machine::new_object() {
  ObjectId arguments = 0, type = 0;
  if (!pop(arguments) || !pop(type) || !is(type, Kind::global) || !is(arguments, Kind::tuple))
    return fail("an object of no class");
  auto const global = objects_[type].global;
  if (global != Global::rendezvous_state && global != Global::node_desc)
    return fail("an object of a class that has none here");
  if (!objects_[arguments].items.empty()) return fail("an object with arguments");
  Object made;
  made.kind = Kind::object;
  made.global = global;
  return push(std::move(made));
}

bool Machine::build() {
  ObjectId state = 0;
  if (!pop(state) || stack_.empty()) return fail("attributes of nothing");
  auto& target = objects_[stack_.back()];
  if (target.kind != Kind::object || !target.items.empty() || !is(state, Kind::dict))
    return fail("attributes that are no dict, or the second ones of an object");
  target.items.push_back(state);
  return true;
}

bool Machine::remember(std::uint32_t slot) {
  if (stack_.empty()) return fail("nothing to be remembered");
  memo_[slot] = stack_.back();
  return memo_.size() <= kMaxObjects ? true : fail("too much is remembered");
}

bool Machine::recall(std::optional<std::uint32_t> slot) {
  if (!slot) return false;
  auto const found = memo_.find(*slot);
  if (found == memo_.end()) return fail("something was never remembered");
  if (stack_.size() >= kMaxObjects) return fail("too many objects");
  return push_id(found->second);
}

bool Machine::expand(ObjectId id, int depth, Value& out) {
  if (depth > kMaxDepth) return fail("it is nested too deep");
  auto const& object = objects_[id];
  expanded_bytes_ += object.bytes.size();
  if (++expanded_ > kMaxObjects || expanded_bytes_ > kMaxUnfoldedBytes)
    return fail("it unfolds into too much");
  out.kind = object.kind;
  out.global = object.global;
  out.number = object.number;
  out.real = object.real;
  out.bytes = object.own_bytes.empty() ? std::string(object.bytes) : object.own_bytes;
  for (auto const item : object.items)
    if (!expand(item, depth + 1, out.items.emplace_back())) return false;
  return true;
}

}  // namespace

Result<Value> read(std::string_view bytes) {
  if (bytes.size() > kMaxPickleBytes)
    return Error{Errc::limit,
                 "pickle of " + std::to_string(bytes.size()) + " bytes, at most " +
                     std::to_string(kMaxPickleBytes) + " are read",
                 {}};
  return Machine(bytes).run();
}

}  // namespace muster::torchrun::pickle
