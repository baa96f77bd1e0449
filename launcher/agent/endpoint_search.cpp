// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_search.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/port_holder.hpp"

#include <utility>

namespace muster::launch {
namespace {

constexpr Duration kResolveAgain = std::chrono::milliseconds{500};
constexpr Duration kLookAgain = std::chrono::milliseconds{100};

}  // namespace

EndpointSearch::EndpointSearch(net::asio::io_context& io, EndpointSearchOptions options,
                               Callbacks callbacks)
    : io_(io),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      resolver_(io),
      timer_(io),
      resolved_(options_.places.size()) {}

void EndpointSearch::start() {
  running_ = true;
  called_.reset();
  if (hosting_allowed() && !own_)
    look_at(0);
  else
    settle();
}

void EndpointSearch::stop() {
  running_ = false;
  timer_.cancel();
}

void EndpointSearch::forbid_hosting() {
  if (std::exchange(forbidden_, true) || !running_ || !own_) return;
  start();
}

void EndpointSearch::nobody_answered() {
  ++unanswered_;
  try_to_host();
  if (!running_ || own_ || !hosting_allowed() || now() < look_again_) return;
  look_at(0);
}

void EndpointSearch::somebody_decides() {
  if (decides()) wait_for_owners();
}

// Which place is ours? The first one that can be bound.
void EndpointSearch::look_at(std::size_t place) {
  if (place == 0 && std::exchange(looking_, true)) return;
  if (place == options_.places.size()) return settle();
  auto const& asked = options_.places[place];
  resolver_.async_resolve(asked.host, std::to_string(asked.port),
                          net::tcp::resolver::numeric_service,
                          [this, place, alive = std::weak_ptr<bool>(alive_)](
                              net::error_code const& ec, auto const& found) {
                            if (alive.expired()) return;
                            std::vector<std::string> addresses;
                            for (auto const& entry : found)
                              addresses.push_back(entry.endpoint().address().to_string());
                            resolved(place, ec, std::move(addresses));
                          });
}

void EndpointSearch::resolved(std::size_t place, net::error_code const& ec,
                              std::vector<std::string> addresses) {
  if (!running_) looking_ = false;
  if (!looking_) return;
  auto const& asked = options_.places[place];
  resolved_[place] = addresses;
  if (ec) {
    callbacks_.on_problem(net::unresolved(asked.host, ec));
    return look_at(place + 1);
  }
  auto candidates = bind_addresses(asked.host, options_.own_name, std::move(addresses));
  if (options_.one_listener && candidates.size() > 1) candidates = {""};
  if (callbacks_.listens(candidates, asked.port)) {
    own_ = place;
    return settle();
  }
  auto bound = bind_endpoint(io_, candidates, asked.port);
  if (options_.must_host && std::holds_alternative<NotOurs>(bound))
    bound = bind_endpoint(io_, {""}, asked.port);
  if (auto* acceptors = std::get_if<Bound>(&bound)) {
    own_ = place;
    callbacks_.on_bound(std::move(*acceptors));
    return settle();
  }
  if (auto* error = std::get_if<Error>(&bound)) return callbacks_.on_failed(*error);
  auto const taken = std::holds_alternative<InUse>(bound);
  if (taken && options_.must_host)
    return callbacks_.on_failed(net::name_port_holder(
        {Errc::address_in_use,
         "cannot host the rendezvous at " + to_text(asked) + ": another program listens there",
         {}},
        asked.port, "choose another port with --rdzv-endpoint or --master-port"));
  neighbour_ = neighbour_ || taken;
  look_at(place + 1);
}

void EndpointSearch::settle() {
  looking_ = false;
  look_again_ = now() + kLookAgain;
  if (!running_) return;
  if (hosting_allowed() && own_) {
    if (*own_ == 0) {
      stop();
      return callbacks_.on_host();
    }
    wait_for_owners();
    auto const first = options_.places.begin();
    return call({first, first + static_cast<std::ptrdiff_t>(*own_)});
  }
  if (options_.must_host) return look_later();
  timer_.cancel();
  call(other_places());
}

std::vector<AskedPlace> EndpointSearch::asked_places() const {
  std::vector<AskedPlace> places;
  for (std::size_t i = 0; i < resolved_.size(); ++i)
    places.push_back({options_.places[i].host, options_.places[i].port, resolved_[i]});
  return places;
}

std::vector<net::Place> EndpointSearch::other_places() const {
  auto others = options_.places;
  if (own_) others.erase(others.begin() + static_cast<std::ptrdiff_t>(*own_));
  return others;
}

void EndpointSearch::look_later() {
  timer_.expires_after(kResolveAgain);
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired() && running_) look_at(0);
  });
}

void EndpointSearch::wait_for_owners() {
  unanswered_ = 0;
  quiet_until_ = now() + options_.quiet;
  timer_.expires_after(options_.quiet);
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) try_to_host();
  });
}

// A place that keeps its callers waiting takes nothing from the others.
void EndpointSearch::try_to_host() {
  if (!decides() || unanswered_ < *own_ || now() < quiet_until_) return;
  stop();
  callbacks_.on_host();
}

void EndpointSearch::call(std::vector<net::Place> places) {
  if (places.empty() || called_ == places) return;
  called_ = places;
  callbacks_.on_call(std::move(places), neighbour_);
}

}  // namespace muster::launch
