// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/round_state.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/torchrun/base64.hpp"
#include "rendezvous/torchrun/pickle_reader.hpp"
#include "rendezvous/torchrun/pickle_writer.hpp"
#include "rendezvous/torchrun/python_time.hpp"

#include <algorithm>

namespace muster::torchrun {
namespace {

using pickle::Global;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kLongestAddress = 1'024;
constexpr std::int64_t kMostRounds = std::int64_t{1} << 53;  // counting on never ends its type

Error corrupt(std::string what) {
  return {Errc::corrupt, "torchrun's round state: " + std::move(what),
          "other agents of this run may be of a PyTorch release that muster does not know"};
}

// Addresses reach log lines and the console.
bool is_plain(std::string const& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

bool take_integer(Value const& value, std::int64_t& out) {
  if (value.kind != Kind::integer) return false;
  out = value.number;
  return true;
}

std::optional<NodeDesc> node_from(Value const& value) {
  if (value.kind != Kind::object || value.global != Global::node_desc || value.items.size() != 1 ||
      value.items[0].items.size() != 6)
    return std::nullopt;
  NodeDesc node;
  auto const& attributes = value.items[0].items;
  int seen = 0;
  for (std::size_t i = 0; i < attributes.size(); i += 2) {
    auto const& name = attributes[i].bytes;
    auto const& attribute = attributes[i + 1];
    if (name == "addr" && attribute.kind == Kind::text && is_plain(attribute.bytes) &&
        attribute.bytes.size() <= kLongestAddress) {
      node.addr = attribute.bytes;
      seen |= 1;
    }
    if (name == "pid" && take_integer(attribute, node.pid)) seen |= 2;
    if (name == "local_id" && take_integer(attribute, node.local_id)) seen |= 4;
  }
  return seen == 7 ? std::optional(std::move(node)) : std::nullopt;
}

bool take_nodes(Value const& value, std::set<NodeDesc>& out) {
  if (value.kind != Kind::set) return false;
  for (auto const& item : value.items) {
    auto node = node_from(item);
    if (!node) return false;
    out.insert(*std::move(node));
  }
  return true;
}

template <class T, class Take>
bool take_dict(Value const& value, std::map<NodeDesc, T>& out, Take const& take) {
  if (value.kind != Kind::dict) return false;
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    auto node = node_from(value.items[i]);
    T entry{};
    if (!node || !take(value.items[i + 1], entry)) return false;
    out[*std::move(node)] = entry;
  }
  return true;
}

bool take_boolean(Value const& value, bool& out) {
  if (value.kind != Kind::boolean) return false;
  out = value.number != 0;
  return true;
}

bool take_time(Value const& value, PythonTime& out) {
  auto const time = time_from(value);
  if (time) out = *time;
  return time.has_value();
}

bool take_deadline(Value const& value, std::optional<PythonTime>& out) {
  if (value.kind == Kind::none) return true;
  return take_time(value, out.emplace());
}

// What torchrun's class has had since it exists; redundancy_list came with 2.3.
bool take_attribute(std::string const& name, Value const& value, RoundState& state,
                    unsigned& seen) {
  auto const required = [&](unsigned bit, bool good) {
    if (good) seen |= bit;
    return good;
  };
  if (name == "round")
    return required(
        1, take_integer(value, state.round) && state.round >= 0 && state.round <= kMostRounds);
  if (name == "complete") return required(2, take_boolean(value, state.complete));
  if (name == "deadline") return required(4, take_deadline(value, state.deadline));
  if (name == "closed") return required(8, take_boolean(value, state.closed));
  if (name == "participants")
    return required(16, take_dict(value, state.participants, take_integer));
  if (name == "wait_list") return required(32, take_nodes(value, state.wait_list));
  if (name == "last_heartbeats")
    return required(64, take_dict(value, state.last_heartbeats, take_time));
  if (name == "redundancy_list") return take_nodes(value, state.redundancy_list.emplace());
  state.others.push_back(Value::text(name));
  state.others.push_back(value);
  return true;
}

Value to_value(NodeDesc const& node) {
  std::vector<Value> attributes;
  attributes.push_back(Value::text("addr"));
  attributes.push_back(Value::text(node.addr));
  attributes.push_back(Value::text("pid"));
  attributes.push_back(Value::integer(node.pid));
  attributes.push_back(Value::text("local_id"));
  attributes.push_back(Value::integer(node.local_id));
  return Value::object(Global::node_desc, std::move(attributes));
}

Value to_value(std::set<NodeDesc> const& nodes) {
  auto set = Value::container(Kind::set);
  for (auto const& node : nodes) set.items.push_back(to_value(node));
  return set;
}

template <class T, class Make>
Value to_dict(std::map<NodeDesc, T> const& entries, Make const& make) {
  auto dict = Value::container(Kind::dict);
  for (auto const& [node, entry] : entries) {
    dict.items.push_back(to_value(node));
    dict.items.push_back(make(entry));
  }
  return dict;
}

}  // namespace

bool writes_aware_times(RoundState const& state) {
  if (!state.last_heartbeats.empty()) return state.last_heartbeats.begin()->second.aware;
  return !state.deadline || state.deadline->aware;
}

Result<RoundState> read_state(std::string_view pickled) {
  auto const value = pickle::read(pickled);
  if (!value)
    return Error{value.error().code, "torchrun's round state: " + value.error().what,
                 corrupt({}).hint};
  if (value->kind != Kind::object || value->global != Global::rendezvous_state ||
      value->items.size() != 1 || value->items[0].items.size() % 2 != 0)
    return corrupt("it is an object of another kind");
  RoundState state;
  state.redundancy_list.reset();
  unsigned seen = 0;
  auto const& attributes = value->items[0].items;
  for (std::size_t i = 0; i < attributes.size(); i += 2) {
    auto const& name = attributes[i];
    if (name.kind != Kind::text) return corrupt("an attribute has no name");
    if (!take_attribute(name.bytes, attributes[i + 1], state, seen))
      return corrupt("the attribute " + name.bytes.substr(0, 40) + " is of another kind");
  }
  if (seen != 127) return corrupt("an attribute is missing");
  return state;
}

std::string write_state(RoundState const& state) {
  std::vector<Value> attributes;
  auto const add = [&](char const* name, Value value) {
    attributes.push_back(Value::text(name));
    attributes.push_back(std::move(value));
  };
  auto const time = [](PythonTime t) { return to_value(t); };
  add("round", Value::integer(state.round));
  add("complete", Value::boolean(state.complete));
  add("deadline", state.deadline ? to_value(*state.deadline) : Value::none());
  add("closed", Value::boolean(state.closed));
  add("participants",
      to_dict(state.participants, [](std::int64_t rank) { return Value::integer(rank); }));
  add("wait_list", to_value(state.wait_list));
  if (state.redundancy_list) add("redundancy_list", to_value(*state.redundancy_list));
  add("last_heartbeats", to_dict(state.last_heartbeats, time));
  attributes.insert(attributes.end(), state.others.begin(), state.others.end());
  return pickle::write(Value::object(Global::rendezvous_state, std::move(attributes)));
}

Result<std::optional<RoundState>> decode_state(std::string_view value) {
  if (value == kNoState) return std::optional<RoundState>();
  if (value.size() > limits::kMaxValueBytes)
    return Error{Errc::limit,
                 "torchrun's round state has " + std::to_string(value.size()) +
                     " bytes, more than a store's value may have",
                 {}};
  auto const pickled = from_base64(value);
  if (!pickled) return corrupt("it is no base64");
  auto state = read_state(*pickled);
  if (!state) return state.error();
  return std::optional(*std::move(state));
}

std::string encode_state(RoundState const& state) {
  return to_base64(write_state(state));
}

}  // namespace muster::torchrun
