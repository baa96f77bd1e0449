// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/ip_address.hpp"

#include <algorithm>
#include <arpa/inet.h>

namespace muster {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(std::array<std::uint8_t, 16> const& bytes) {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  std::string const bare(text.substr(0, text.find('%')));
  IpAddress address;
  if (::inet_pton(AF_INET, bare.c_str(), address.bytes.data()) == 1 && bare == text) return address;
  if (::inet_pton(AF_INET6, bare.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.is_v6 = true;
  if (!is_mapped(address.bytes)) return address;
  IpAddress mapped;
  std::copy(address.bytes.begin() + kMappedPrefix.size(), address.bytes.end(),
            mapped.bytes.begin());
  return mapped;
}

std::string to_string(IpAddress const& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  auto const family = address.is_v6 ? AF_INET6 : AF_INET;
  auto const* const written =
      ::inet_ntop(family, address.bytes.data(), text.data(), static_cast<socklen_t>(text.size()));
  return written ? written : std::string();
}

bool is_loopback(IpAddress const& address) {
  if (!address.is_v6) return address.bytes[0] == 127;
  auto const last = address.bytes.end() - 1;
  return *last == 1 &&
         std::all_of(address.bytes.begin(), last, [](auto byte) { return byte == 0; });
}

bool is_link_local(IpAddress const& address) {
  if (!address.is_v6) return address.bytes[0] == 169 && address.bytes[1] == 254;
  return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

std::string with_zone(std::string const& address, std::string_view interface) {
  auto const ip = parse_ip(address);
  if (!ip || !ip->is_v6 || !is_link_local(*ip) || interface.empty()) return address;
  return address.substr(0, address.find('%')) + "%" + std::string(interface);
}

bool same_subnet(IpAddress const& a, IpAddress const& b, unsigned prefix_bits) {
  if (a.is_v6 != b.is_v6) return false;
  for (std::size_t i = 0; i < a.bytes.size() && prefix_bits > 0; ++i) {
    auto const bits = std::min(prefix_bits, 8U);
    auto const mask = static_cast<std::uint8_t>(0xff << (8 - bits));
    if ((a.bytes[i] & mask) != (b.bytes[i] & mask)) return false;
    prefix_bits -= bits;
  }
  return true;
}

std::string subnet_text(IpAddress const& address, unsigned prefix_bits) {
  auto network = address;
  auto left = prefix_bits;
  for (auto& byte : network.bytes) {
    auto const bits = std::min(left, 8U);
    byte = static_cast<std::uint8_t>(byte & (0xff << (8 - bits)));
    left -= bits;
  }
  return to_string(network) + "/" + std::to_string(prefix_bits);
}

std::string endpoint_text(std::string_view host, std::uint16_t port) {
  auto const is_v6 = host.find(':') != std::string_view::npos;
  auto const shown = is_v6 ? "[" + std::string(host) + "]" : std::string(host);
  return shown + ":" + std::to_string(port);
}

}  // namespace muster
