// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Python object as data: what torchrun's pickled round state may be made of, and nothing else. No
// class is looked up and nothing is called; an object is its class's name and its attributes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::torchrun::pickle {

enum class Kind {
  none,
  boolean,
  integer,
  real,
  text,  // UTF-8
  bytes,
  tuple,
  list,
  set,
  dict,    // items: key, value, key, value
  object,  // an instance; items: empty, or the dict of its attributes
  call,    // what a class makes of its arguments, which are the items
  global,  // a class or function by itself
};

// The only names that a pickle may mention.
enum class Global { rendezvous_state, node_desc, datetime, timezone, timedelta, set, encode };

struct GlobalName {
  Global global;
  std::string_view module, name;
};
inline constexpr std::string_view kRendezvousModule =
    "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
inline constexpr std::array<GlobalName, 8> kGlobals{{
    {Global::rendezvous_state, kRendezvousModule, "_RendezvousState"},
    {Global::node_desc, kRendezvousModule, "_NodeDesc"},
    {Global::datetime, "datetime", "datetime"},
    {Global::timezone, "datetime", "timezone"},
    {Global::timedelta, "datetime", "timedelta"},
    {Global::set, "builtins", "set"},  // how protocols before 4 write a set
    {Global::set, "__builtin__", "set"},
    {Global::encode, "_codecs", "encode"},  // and protocol 2 bytes
}};

struct Value {
  Kind kind = Kind::none;
  Global global = Global::set;  // of an object, a call or a global
  std::int64_t number = 0;      // integer; boolean: 0 or 1
  double real = 0;
  std::string bytes;  // text, bytes
  std::vector<Value> items;

  friend bool operator==(Value const&, Value const&) = default;

  static Value none() { return {}; }
  static Value boolean(bool value) {
    return {Kind::boolean, Global::set, value ? 1 : 0, 0, {}, {}};
  }
  static Value integer(std::int64_t value) {
    return {Kind::integer, Global::set, value, 0, {}, {}};
  }
  static Value text(std::string value) {
    return {Kind::text, Global::set, 0, 0, std::move(value), {}};
  }
  static Value of_bytes(std::string value) {
    return {Kind::bytes, Global::set, 0, 0, std::move(value), {}};
  }
  static Value container(Kind kind, std::vector<Value> items = {}) {
    return {kind, Global::set, 0, 0, {}, std::move(items)};
  }
  static Value call(Global of, std::vector<Value> arguments) {
    return {Kind::call, of, 0, 0, {}, std::move(arguments)};
  }
  // `attributes`: name, value, name, value.
  static Value object(Global of, std::vector<Value> attributes) {
    std::vector<Value> state;
    state.push_back(container(Kind::dict, std::move(attributes)));
    return {Kind::object, of, 0, 0, {}, std::move(state)};
  }
};

}  // namespace muster::torchrun::pickle
