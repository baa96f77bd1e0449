// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/port_list.hpp"

#include "launcher/cli/values.hpp"
#include "rendezvous/base/ip_address.hpp"

#include <array>
#include <vector>

namespace muster::launch {
namespace {

constexpr std::size_t kPortColumn = 16;

std::string range_text(PortRange range) {
  auto text = std::to_string(range.first);
  if (range.last != range.first) text += "-" + std::to_string(range.last);
  return text;
}

std::string ranges_text(std::vector<PortRange> const& ranges) {
  std::string text;
  for (auto const& range : ranges) text += (text.empty() ? "" : ",") + range_text(range);
  return text;
}

std::string row(std::string const& ports, std::string const& what) {
  auto const fill = ports.size() < kPortColumn ? kPortColumn - ports.size() : 1;
  return "  " + ports + std::string(fill, ' ') + what + "\n";
}

std::string more(std::string const& what) {
  return row({}, what);
}

std::string store_rows(RunOptions const& options, std::string const& any_port) {
  if (options.rendezvous == Rendezvous::static_ranks) return more("and the workers' store there");
  if (!options.store_ports.empty())
    return row(ranges_text(options.store_ports), "the workers' store, on the node of rank 0");
  return row(any_port, "the workers' store, on the node of rank 0: fix it with --store-ports");
}

// How the libraries of the workers choose where they listen, and what of it the user has set.
std::string library_rows(EnvView const& env, std::string const& any_port) {
  auto text =
      row(any_port,
          "what the workers' libraries open: gloo, NCCL's bootstrap and sockets, muster's") +
      more("own; net.ipv4.ip_local_port_range of each node (sysctl) says where");
  for (auto const* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    auto const value = env.get(name);
    text += more(std::string(name) + (value ? "=" + std::string(*value) + ": as it is set here"
                                            : ": set by muster to the network that it chooses"));
  }
  return text +
         row("UDP 4791", "NCCL over RoCE, where there is such hardware; InfiniBand needs no port");
}

}  // namespace

std::optional<PortRange> parse_ephemeral_ports(std::string_view text) {
  auto const rest = trimmed(text);
  auto const blank = rest.find_first_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  auto const first = parse_int(rest.substr(0, blank));
  auto const last = parse_int(trimmed(rest.substr(blank)));
  if (!first || !last || *first < 1 || *last > 65535 || *last < *first) return std::nullopt;
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

std::string port_list(RunOptions const& options, EnvView const& env,
                      std::optional<PortRange> ephemeral) {
  if (options.rendezvous == Rendezvous::local)
    return "run " + options.run_id + " has one node: no port needs to be open to others\n";
  auto const any_port = ephemeral ? range_text(*ephemeral) : std::string("any");
  auto const& endpoint = *options.endpoint;
  auto text = "run " + options.run_id + ": TCP ports to be open from each of its nodes to each\n";
  text += row(std::to_string(endpoint.port), "the rendezvous at " +
                                                 endpoint_text(endpoint.host, endpoint.port) +
                                                 ", and each node's own listener");
  text += store_rows(options, any_port);
  text += library_rows(env, any_port);
  return text;
}

}  // namespace muster::launch
