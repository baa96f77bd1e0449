// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/round_stores.hpp"

#include "launcher/agent/endpoint_bind.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/port_holder.hpp"

#include <utility>

namespace muster::launch {

RoundStores::RoundStores(net::asio::io_context& io, RunOptions const& options,
                         std::vector<membership::NodeNetwork> networks)
    : io_(io),
      alone_(options.rendezvous == Rendezvous::local),
      for_all_(options.open_store),
      endpoint_(options.endpoint.value_or(Endpoint{})),
      ports_(options.store_ports),
      networks_(std::move(networks)) {}

Result<std::uint16_t> RoundStores::open(StoreWish const& wish) {
  if (alone_ && endpoint_.port != 0) stores_.clear();  // no worker of an older round is alive
  MUSTER_TRY(auto acceptor, listen(wish.address));
  net::ServerOptions serving;
  if (!for_all_) serving.allow = wish.peers;
  net::Server server(std::move(acceptor), std::move(serving));
  auto const port = server.port();
  stores_.insert_or_assign(wish.round, std::move(server));
  resting_.push_back(port);
  if (resting_.size() > kPortRests) resting_.pop_front();
  return port;
}

void RoundStores::admit(StoreWish const& wish) {
  auto const found = stores_.find(wish.round);
  if (found != stores_.end()) found->second.allow_also(wish.peers);
}

Result<net::tcp::acceptor> RoundStores::listen(std::string const& address) {
  auto host = listen_address(address, networks_);
  if (alone_) host = endpoint_.host.empty() ? "127.0.0.1" : endpoint_.host;
  if (alone_ && endpoint_.port != 0) {
    auto fixed = net::listen_on(io_, host, endpoint_.port);
    if (fixed) return fixed;
    return net::name_port_holder(std::move(fixed).error(), endpoint_.port,
                                 "choose another port with --master-port or --rdzv-endpoint");
  }
  if (ports_.empty()) return net::listen_on(io_, host, 0);
  std::vector<std::uint16_t> const avoid(resting_.begin(), resting_.end());
  return net::listen_in_ranges(io_, host, ports_, avoid);
}

void RoundStores::close_before(RoundNumber round) {
  stores_.erase(stores_.begin(), stores_.lower_bound(round));
}

void RoundStores::close_all() {
  stores_.clear();
}

}  // namespace muster::launch
