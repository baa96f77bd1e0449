// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/interface_addresses.hpp"

#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cstddef>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <span>

namespace muster::launch {
namespace {

// The address bytes of an IPv4 or IPv6 socket address; empty for others.
std::span<unsigned char const> address_bytes(sockaddr const* address) {
  auto const* raw = reinterpret_cast<unsigned char const*>(address);
  if (address->sa_family == AF_INET) return {raw + offsetof(sockaddr_in, sin_addr), 4};
  if (address->sa_family == AF_INET6) return {raw + offsetof(sockaddr_in6, sin6_addr), 16};
  return {};
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> listed;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return listed;
  for (auto const* each = first; each != nullptr; each = each->ifa_next) {
    if (!each->ifa_addr || !each->ifa_netmask) continue;
    auto const bytes = address_bytes(each->ifa_addr);
    if (bytes.empty()) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(each->ifa_addr->sa_family, bytes.data(), text.data(), text.size());
    auto const mask = reinterpret_cast<unsigned char const*>(each->ifa_netmask) +
                      (bytes.data() - reinterpret_cast<unsigned char const*>(each->ifa_addr));
    int prefix = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) prefix += std::popcount(mask[i]);
    bool const runs = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_RUNNING) != 0;
    listed.push_back({each->ifa_name, text.data(), static_cast<std::uint8_t>(prefix), runs,
                      (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(first);
  return listed;
}

}  // namespace muster::launch
