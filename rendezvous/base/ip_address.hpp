// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numeric addresses as values: what can be said about one without asking a resolver or the kernel.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the first four

  friend bool operator==(IpAddress const&, IpAddress const&) = default;
  friend auto operator<=>(IpAddress const&, IpAddress const&) = default;
};

// A zone ("%eth0") is left out; an IPv4 address mapped into IPv6 is the IPv4 address. Nothing for
// names.
std::optional<IpAddress> parse_ip(std::string_view text);
std::string to_string(IpAddress const& address);

bool is_loopback(IpAddress const& address);
bool is_link_local(IpAddress const& address);  // 169.254.0.0/16, fe80::/10

// "fe80::1%eth0": a link-local IPv6 address means something by an interface only; others stay.
std::string with_zone(std::string const& address, std::string_view interface);

// Equal in their first `prefix_bits`, and of one family.
bool same_subnet(IpAddress const& a, IpAddress const& b, unsigned prefix_bits);
// "10.77.0.0/24": the address with its host part cleared.
std::string subnet_text(IpAddress const& address, unsigned prefix_bits);

// "10.0.0.1:29400", "head:29400", "[fd00::1]:29400".
std::string endpoint_text(std::string_view host, std::uint16_t port);

}  // namespace muster
