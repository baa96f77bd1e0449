// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the command line's options to the link that they ask for.

#include "launcher/agent/local_link.hpp"
#include "launcher/agent/remote_link.hpp"
#include "launcher/agent/torchrun_link.hpp"
#include "launcher/cli/options.hpp"
#include "launcher/environment/networks.hpp"

namespace muster::launch {

struct NodeIdentity {
  std::string host_name;
  std::uint32_t local_world_size = 1;
  NetworkOffer network;  // by which the other nodes may reach this one
  // What the nodes have to prove to each other; null: nothing.
  net::Security::Ptr security = nullptr;
};

membership::JobSettings job_settings(RunOptions const& options);
LocalLinkOptions local_link_options(RunOptions const& options, NodeIdentity const& node);
RemoteLinkOptions remote_link_options(RunOptions const& options, NodeIdentity const& node,
                                      Incarnation incarnation);
TorchrunLinkOptions torchrun_link_options(RunOptions const& options, NodeIdentity const& node);

std::unique_ptr<MembershipLink> make_link(net::asio::io_context& io, RunOptions const& options,
                                          NodeIdentity const& node);

}  // namespace muster::launch
