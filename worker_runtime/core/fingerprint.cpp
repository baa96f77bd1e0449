// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/fingerprint.hpp"

#include <array>

namespace muster::worker {

void Fingerprint::add(std::string_view bytes) {
  for (auto const byte : bytes)
    hash_ = (hash_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3ULL;
}

void Fingerprint::add_sized(std::string_view text) {
  add(std::uint64_t{text.size()});
  add(text);
}

void Fingerprint::add(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  add(std::string_view(bytes.data(), bytes.size()));
}

void Fingerprint::add(Tensor const& tensor) {
  if (!tensor.empty())
    add(std::string_view(reinterpret_cast<char const*>(tensor.data()), tensor.bytes()));
}

std::string Fingerprint::hex() const {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash_ >> shift & 0xF];
  return text;
}

std::string describe(ParamSpec const& spec) {
  return spec.name + ": " + std::string(name_of(spec.dtype)) + " " + to_string(spec.shape) +
         (spec.trainable ? ", trainable" : ", frozen");
}

}  // namespace muster::worker
