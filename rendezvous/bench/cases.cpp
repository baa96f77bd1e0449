// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bench/cases.hpp"

#include "rendezvous/wire/encoder.hpp"

#include <initializer_list>

namespace muster::bench {
namespace {

constexpr std::size_t kValueBytes = 64;
constexpr std::size_t kKeysAtOnce = 16;

std::string const& value() {
  static std::string const text(kValueBytes, 'v');
  return text;
}

std::string key(std::size_t i) {
  return "/bench/" + std::to_string(100'000 + i);
}

std::string store(std::initializer_list<wire::Request> requests) {
  std::string out;
  for (auto const& request : requests) wire::encode(request, out);
  return out;
}

// A SET has no answer in TCPStore: the PING behind it tells when it was carried out.
std::string filled(std::string_view name) {
  return store({wire::Set{name, value()}, wire::Ping{}});
}
constexpr std::size_t kPong = 4;

std::string resp(std::initializer_list<std::string_view> words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (auto const word : words)
    out += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
  return out;
}
constexpr std::size_t kOk = 5;  // "+OK\r\n"

std::optional<Script> set(Dialect dialect, std::size_t i) {
  auto const name = key(i);
  if (dialect == Dialect::resp) return Script{"", 0, resp({"SET", name, value()}), kOk};
  return Script{filled(name), kPong, store({wire::Set{name, value()}, wire::Ping{}}), kPong};
}

std::optional<Script> get(Dialect dialect, std::size_t i) {
  auto const name = key(i);
  if (dialect == Dialect::resp)
    return Script{resp({"SET", name, value()}), kOk, resp({"GET", name}), 5 + kValueBytes + 2};
  return Script{filled(name), kPong, store({wire::Get{name}}), 8 + kValueBytes};
}

std::optional<Script> add(Dialect dialect, std::size_t i) {
  auto const name = key(i) + "n";
  if (dialect == Dialect::resp) return Script{"", 0, resp({"INCRBY", name, "1"}), 0};
  wire::Add const request{name, 1};
  return Script{filled(key(i)), kPong, store({request}), 8};
}

std::optional<Script> compare_set(Dialect dialect, std::size_t i) {
  if (dialect == Dialect::resp) return std::nullopt;
  auto const name = key(i);
  wire::CompareSet const request{name, value(), value()};
  return Script{filled(name), kPong, store({request}), 8 + kValueBytes};
}

std::optional<Script> multi_get(Dialect dialect, std::size_t i) {
  auto const name = key(i);
  if (dialect == Dialect::resp) return std::nullopt;
  std::vector<std::string> const names(kKeysAtOnce, name);
  std::string storage;
  wire::MultiGet const request{wire::encode_list(names, storage)};
  return Script{filled(name), kPong, store({request}), kKeysAtOnce * (8 + kValueBytes)};
}

}  // namespace

std::vector<Case> const& cases() {
  static std::vector<Case> const all{{"get", get},
                                     {"set", set},
                                     {"add", add},
                                     {"compare_set", compare_set},
                                     {"multi_get", multi_get},
                                     {"wait_wake", nullptr}};
  return all;
}

}  // namespace muster::bench
