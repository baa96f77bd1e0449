// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/torchrun_host.hpp"

#include <utility>

namespace muster::launch {
namespace {

EndpointSearchOptions search_options(TorchrunHost::Options options) {
  EndpointSearchOptions search;
  search.places = {std::move(options.place)};
  search.own_name = std::move(options.own_name);
  search.must_host = options.is_host.value_or(false);
  search.may_host = options.is_host.value_or(true);
  return search;
}

}  // namespace

TorchrunHost::TorchrunHost(net::asio::io_context& io, Options options, Callbacks callbacks)
    : callbacks_(std::move(callbacks)),
      search_(io, search_options(std::move(options)),
              {[this](Bound acceptors) { bound(std::move(acceptors)); },
               [](std::vector<std::string> const&, std::uint16_t) { return false; },
               [this] { decided(); }, [this](std::vector<net::Place> const&, bool) { decided(); },
               [this](Error const& error) { callbacks_.on_problem(error); },
               [this](Error const& error) { callbacks_.on_failed(error); }}) {}

// Two connections an agent, and one of each muster agent that must be told that it is wrong here.
void TorchrunHost::bound(Bound acceptors) {
  for (auto& acceptor : acceptors) servers_.emplace_back(std::move(acceptor), net::ServerOptions());
}

void TorchrunHost::decided() {
  if (!std::exchange(decided_, true)) callbacks_.on_decided();
}

std::size_t TorchrunHost::connections() const {
  std::size_t count = 0;
  for (auto const& server : servers_) count += server.connections();
  return count;
}

void TorchrunHost::stop() {
  search_.stop();
  servers_.clear();
}

}  // namespace muster::launch
