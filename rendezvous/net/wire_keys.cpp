// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/wire_keys.hpp"

#include "rendezvous/base/bytes.hpp"

namespace muster::net {
namespace {

void write_key(std::string_view user_key, std::string& out) {
  ByteWriter writer{out};
  writer.number<std::uint64_t>(user_key.size() + 1);
  out.push_back('/');
  writer.raw(user_key);
}

}  // namespace

std::string wire_key(std::string_view user_key) {
  std::string key;
  key.reserve(user_key.size() + 1);
  key.push_back('/');
  key.append(user_key);
  return key;
}

wire::EncodedList encode_wire_keys(std::span<std::string const> user_keys, std::string& storage) {
  auto const begin = storage.size();
  for (auto const& key : user_keys) write_key(key, storage);
  return {user_keys.size(), std::string_view{storage}.substr(begin)};
}

wire::EncodedList encode_wire_pairs(std::span<std::string const> user_keys,
                                    std::span<std::string const> values, std::string& storage) {
  auto const begin = storage.size();
  for (std::size_t i = 0; i < user_keys.size(); ++i) {
    write_key(user_keys[i], storage);
    ByteWriter{storage}.sized(values[i]);
  }
  return {user_keys.size() * 2, std::string_view{storage}.substr(begin)};
}

std::vector<std::string> without_slash(std::vector<std::string> const& wire_keys) {
  std::vector<std::string> keys;
  for (auto const& key : wire_keys)
    if (!key.empty() && key.front() == '/') keys.push_back(key.substr(1));
  return keys;
}

std::vector<std::string> user_keys(wire::EncodedList const& wire_keys) {
  std::vector<std::string> keys;
  wire_keys.all_of([&](std::string_view key) {
    keys.emplace_back(key);
    return true;
  });
  return without_slash(keys);
}

}  // namespace muster::net
