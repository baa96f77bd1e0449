// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/networks.hpp"

#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/ip_address.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::launch {
namespace {

using membership::NodeNetwork;
using Networks = std::vector<NodeNetwork>;

// Networks inside one machine, by the names that those who make them give.
constexpr std::array<std::string_view, 16> kInsideNames = {
    "docker", "podman", "virbr",   "cni",  "flannel", "cali",    "cilium",       "weave",
    "lxcbr",  "lxdbr",  "nerdctl", "kube", "vmnet",   "vboxnet", "nodelocaldns", "tunl",
};

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_inside_name(std::string_view name) {
  if (name.starts_with("br-") && name.size() == 15 && is_hex(name.substr(3)))
    return true;  // Docker
  return std::any_of(kInsideNames.begin(), kInsideNames.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A network card, or what stands on cards: a bond, a VLAN.
bool is_attached(std::string const& port, FileSystem const& files) {
  auto const folder = "/sys/class/net/" + port;
  if (files.kind(folder + "/device") != FileKind::missing) return true;
  auto const entries = files.list(folder);
  return std::any_of(entries.begin(), entries.end(),
                     [](std::string const& entry) { return entry.starts_with("lower_"); });
}

// A bridge with a card among its ports is how some machines are attached.
bool is_bridge_inside(std::string const& name, FileSystem const& files) {
  auto const folder = "/sys/class/net/" + name;
  if (files.kind(folder + "/bridge") == FileKind::missing) return false;
  auto const ports = files.list(folder + "/brif");
  return std::none_of(ports.begin(), ports.end(),
                      [&](std::string const& port) { return is_attached(port, files); });
}

std::string text_of(NodeNetwork const& network) {
  return network.interface + " " + network.address + "/" + std::to_string(network.prefix_bits);
}

std::string list_of(Networks const& networks) {
  std::string text;
  for (auto const& network : networks) text += (text.empty() ? "" : ", ") + text_of(network);
  return text.empty() ? "none but loopback" : text;
}

struct Subnet {
  IpAddress address;
  unsigned bits = 0;
};

Result<Subnet> parse_subnet(std::string const& text) {
  auto const slash = text.find('/');
  auto const address = parse_ip(text.substr(0, slash));
  auto const bits = parse_int(text.substr(slash + 1));
  if (!address || !bits || *bits < 0 || *bits > (address->is_v6 ? 128 : 32))
    return Error{Errc::bad_input, "--network: '" + text + "' is no subnet",
                 "ADDRESS/BITS, e.g. 10.0.0.0/8 or fd00::/8"};
  return Subnet{*address, static_cast<unsigned>(*bits)};
}

// The networks that one word of the list names. By its subnet a bridge stays a bridge: nobody
// lists those of containers when he says 172.16.0.0/12.
Result<Networks> named(Networks const& usable, std::string const& word) {
  Networks found;
  if (word.find('/') != std::string::npos) {
    MUSTER_TRY(auto const subnet, parse_subnet(word));
    for (auto const& network : usable)
      if (auto const ip = parse_ip(network.address);
          ip && same_subnet(*ip, subnet.address, subnet.bits))
        found.push_back(network);
    return found;
  }
  auto const address = parse_ip(word);
  for (auto network : usable) {
    bool const fits = address ? parse_ip(network.address) == address : network.interface == word;
    network.is_bridge = false;
    if (fits) found.push_back(std::move(network));
  }
  return found;
}

// The words of a comma list, without the spaces around them.
std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    auto const comma = std::min(list.find(','), list.size());
    auto word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    auto const first = word.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    words.emplace_back(word.substr(first, word.find_last_not_of(" \t") - first + 1));
  }
  return words;
}

Result<Networks> wished(Networks const& usable, std::string const& list, std::string const& host) {
  Networks chosen;
  for (auto const& word : words_of(list)) {
    MUSTER_TRY(auto found, named(usable, word));
    for (auto& network : found) {
      auto const known = std::any_of(chosen.begin(), chosen.end(), [&](NodeNetwork const& other) {
        return other.interface == network.interface && other.address == network.address;
      });
      if (!known) chosen.push_back(std::move(network));
    }
  }
  if (chosen.empty())
    return Error{Errc::bad_input, "--network=" + list + ": host " + host + " has no such network",
                 "it has " + list_of(usable)};
  return chosen;
}

// The user's word about this node's address, which may be one that is translated on its way.
Result<NetworkOffer> with_address(Networks const& usable, NetworkWish const& wish,
                                  Networks const& restricted, std::string const& host) {
  auto const& given = *wish.local_addr;
  NetworkOffer offer{given, {}};
  auto const ip = parse_ip(given);
  if (!ip) return offer;
  MUSTER_TRY(offer.networks, named(usable, given));
  if (wish.networks.empty()) return offer;
  if (offer.networks.empty()) {
    auto const bits = static_cast<std::uint8_t>(ip->is_v6 ? 128 : 32);
    offer.networks = {{restricted.front().interface, given, bits, false}};
    return offer;
  }
  for (auto const& network : restricted)
    if (network.address == offer.networks.front().address) return offer;
  return Error{Errc::bad_input,
               "--local-addr=" + given + " of host " + host +
                   " is not in --network=" + wish.networks + " (" + list_of(restricted) + ")",
               "leave out one of the two"};
}

}  // namespace

Networks usable_networks(std::span<InterfaceAddress const> listed, FileSystem const& files) {
  Networks routable, link_local;
  bool leads_out = false;
  for (auto const& each : listed) {
    auto const ip = parse_ip(each.address);
    if (!each.runs || each.is_loopback || !ip || is_loopback(*ip)) continue;
    NodeNetwork network{each.interface, each.address, each.prefix_bits,
                        is_inside_name(each.interface) || is_bridge_inside(each.interface, files)};
    auto const is_local = is_link_local(*ip);
    leads_out = leads_out || (!is_local && !network.is_bridge);
    auto& kind = is_local ? link_local : routable;
    kind.push_back(std::move(network));
  }
  if (!leads_out) routable.insert(routable.end(), link_local.begin(), link_local.end());
  if (routable.size() > kMostNetworks)  // those that count first, each kind in its order
    std::stable_partition(routable.begin(), routable.end(),
                          [](NodeNetwork const& network) { return !network.is_bridge; });
  routable.resize(std::min(routable.size(), kMostNetworks));
  return routable;
}

Result<NetworkOffer> offer_networks(Networks const& usable, NetworkWish const& wish,
                                    std::string const& host) {
  Networks restricted;
  if (!wish.networks.empty()) {
    MUSTER_TRY(restricted, wished(usable, wish.networks, host));
  }
  if (wish.local_addr) return with_address(usable, wish, restricted, host);
  if (wish.networks.empty()) return NetworkOffer{{}, usable};
  auto address = restricted.front().address;
  return NetworkOffer{std::move(address), std::move(restricted)};
}

}  // namespace muster::launch
