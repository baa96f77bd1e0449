// SPDX-License-Identifier: Apache-2.0
#pragma once
// `muster run --print-ports`: what must be open between the nodes of a job. Pure.

#include "launcher/cli/options.hpp"
#include "rendezvous/base/env_view.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster::launch {

// /proc/sys/net/ipv4/ip_local_port_range: from where the kernel takes ports that nobody chose.
std::optional<PortRange> parse_ephemeral_ports(std::string_view text);

// Lines for people and for whoever writes a firewall's rules. `ephemeral`: nothing if unknown.
std::string port_list(RunOptions const& options, EnvView const& env,
                      std::optional<PortRange> ephemeral);

}  // namespace muster::launch
