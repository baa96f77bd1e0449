// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the command line's options to the link that they ask for.

#include "launcher/agent/local_link.hpp"
#include "launcher/agent/remote_link.hpp"
#include "launcher/cli/options.hpp"

namespace muster::launch {

struct NodeIdentity {
  std::string host_name;
  std::uint32_t local_world_size = 1;
  bool in_kubernetes = false;  // where the name of a pod resolves only once that pod is ready
};

membership::JobSettings job_settings(RunOptions const& options);
LocalLinkOptions local_link_options(RunOptions const& options, NodeIdentity const& node);
RemoteLinkOptions remote_link_options(RunOptions const& options, NodeIdentity const& node,
                                      Incarnation incarnation);

std::unique_ptr<MembershipLink> make_link(net::asio::io_context& io, RunOptions const& options,
                                          NodeIdentity const& node);

}  // namespace muster::launch
