// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/own_hosting.hpp"

#include "rendezvous/base/log.hpp"

#include <utility>

namespace muster::launch {
namespace {

// Beyond the time that the host gives its members to acknowledge the outcome.
constexpr Duration kHostGoesAnyway = std::chrono::seconds{2};

}  // namespace

OwnHosting::OwnHosting(net::asio::io_context& io, RemoteLinkOptions const& options,
                       LinkMember& member, net::PeerLines& lines,
                       std::function<void(control::Letter)> called)
    : options_(options),
      member_(member),
      farewell_(io),
      ear_(io, serving(std::move(called))),
      herald_(io, lines) {}

net::HostServiceOptions OwnHosting::serving(std::function<void(control::Letter)> called) {
  net::HostServiceOptions serving;
  serving.name = options_.facts.host;
  serving.self = options_.facts.incarnation;
  serving.only_run = options_.run_id;
  serving.begins_jobs = false;
  serving.security = options_.security;
  serving.on_why = [](std::string const& run_id, membership::Why const& why, TimePoint time) {
    log::info("run " + run_id + ": " + membership::explain(why, time));
  };
  serving.on_finished = [this](std::string const&, std::optional<membership::HostIs> const&) {
    service_finished();
  };
  serving.on_other = std::move(called);
  return serving;
}

bool OwnHosting::serves_store() const {
  auto const has_token = options_.security && !options_.security->token().empty();
  return options_.job.store_at_endpoint || options_.open_store || !has_token;
}

// Where others call this agent.

void OwnHosting::listen_beside(net::Place const& place, std::string const& own_address) {
  if (!options_.job.succession) return;
  listen_at(options_.facts.address.empty() ? address_beside(own_address, place.host)
                                           : options_.facts.address);
}

void OwnHosting::listen_at(std::string const& address) {
  auto const port =
      ear_.open(listen_address(address, options_.facts.networks), options_.places.front().port);
  if (port) return member_.set_control_port(*port);
  log::warning(to_string(port.error()) +
               "; other nodes cannot call this one: it has no vote should the host be lost");
}

// Hosting.

void OwnHosting::begin(std::vector<net::Place> told) {
  hosts_ = true;
  member_.set_control_port(ear_.port());
  if (!options_.facts.address.empty() && options_.job.succession) listen_at(options_.facts.address);
  ear_.service().begin_jobs(member_.state().generation);
  announce(std::move(told));
}

void OwnHosting::take_over(membership::Host const& host, std::vector<net::Place> told) {
  hosts_ = true;
  ear_.service().adopt(host, member_.state().job);
  announce(std::move(told));
}

void OwnHosting::announce(std::vector<net::Place> told) {
  herald_.start(std::move(told), [this]() -> std::optional<control::Letter> {
    auto is = ear_.service().hosted(options_.run_id);
    if (!is) return std::nullopt;
    add_address(*is);
    return member_.letter(*std::move(is));
  });
}

void OwnHosting::add_address(membership::HostIs& is) const {
  is.host.address = options_.facts.address;
  is.host.port = member_.state().facts.control_port;
}

void OwnHosting::overrule(membership::HostIs const& by) {
  ear_.service().overrule(options_.run_id, by);
}

bool OwnHosting::forbid(Error const& error) {
  return hosts_ && ear_.service().forbid(options_.run_id, error);
}

// The end.

void OwnHosting::service_finished() {
  hosts_ = ear_.service().hosted(options_.run_id).has_value();
  if (!hosts_) herald_.stop();
  if (deliver_) say_farewell_in(Duration::zero());
}

void OwnHosting::leave_last(std::function<void()> deliver) {
  deliver_ = std::move(deliver);
  say_farewell_in(options_.job.outcome_patience + kHostGoesAnyway);
}

void OwnHosting::say_farewell_in(Duration time) {
  farewell_.expires_after(time);
  farewell_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired() && deliver_) std::exchange(deliver_, nullptr)();
  });
}

// The static workers' store.

std::optional<Result<std::uint16_t>> OwnHosting::open_store(StoreWish const& wish) {
  if (!options_.job.store_at_endpoint) return std::nullopt;
  ear_.renew_store();
  if (!options_.open_store) ear_.allow_only(wish.peers);
  return Result<std::uint16_t>(options_.places.front().port);
}

bool OwnHosting::admit_to_store(StoreWish const& wish) {
  if (options_.job.store_at_endpoint) ear_.allow_also(wish.peers);
  return options_.job.store_at_endpoint;
}

}  // namespace muster::launch
