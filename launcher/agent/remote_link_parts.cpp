// SPDX-License-Identifier: Apache-2.0
// How the parts of a link are put together, and what each tells the others.

#include "launcher/agent/remote_link.hpp"

#include <utility>

namespace muster::launch {

namespace member = membership::member;

RemoteLink::RemoteLink(net::asio::io_context& io, RemoteLinkOptions options)
    : io_(io),
      options_(std::move(options)),
      timer_(io),
      silence_(io),
      torchrun_(io, options_.run_id, options_.facts.host, options_.places.front(),
                watch_callbacks()),
      spoken_as_(options_.facts.incarnation),
      search_(make_search()),
      line_(make_line()),
      peers_(make_peer_lines()),
      hosting_(io, options_, member_, peers_, [this](control::Letter letter) { called(letter); }),
      prober_(io),
      member_(make_member(options_.facts, options_.job, options_.run_id, options_.backend,
                          places_text()),
              *this) {
  auto const& first = options_.places.front();
  if (options_.job.store_at_endpoint)
    member_.use_master(first.host, first.port);
  else
    hosting_.ear().watch_key(torchrun_.key(), [this] {
      if (!over_ && search_.owns_first_place()) torchrun_.written();
    });
}

EndpointSearch RemoteLink::make_search() {
  EndpointSearchOptions search;
  search.places = options_.places;
  search.own_name = options_.facts.host;
  search.must_host = must_host();
  search.may_host = options_.may_begin && !options_.is_host && !options_.job.given_ranks;
  search.one_listener = options_.job.store_at_endpoint;
  search.quiet = options_.job.quiet;
  EndpointSearch::Callbacks callbacks;
  callbacks.on_bound = [this](Bound acceptors) {
    hosting_.ear().add(std::move(acceptors), hosting_.serves_store());
  };
  callbacks.listens = [this](std::vector<std::string> const& addresses, std::uint16_t port) {
    return hosting_.ear().listens(addresses, port);
  };
  callbacks.on_host = [this] { begin_hosting(); };
  callbacks.on_call = [this](std::vector<net::Place> places, bool neighbour) {
    neighbour_ = neighbour;
    line_.call(std::move(places), neighbour);
  };
  callbacks.on_problem = [this](Error const& error) { problem(error); };
  callbacks.on_failed = [this](Error const& error) { fail(error); };
  return {io_, std::move(search), std::move(callbacks)};
}

HostLine RemoteLink::make_line() {
  HostLine::Callbacks callbacks;
  callbacks.on_connected = [this](net::Place const& place, std::string const& own_address) {
    hosting_.listen_beside(place, own_address);
    if (hosting_.serves_store()) torchrun_.visit_later();
    member_.event(member::Connected{});
  };
  callbacks.on_letter = [this](control::Letter letter) { heard(std::move(letter)); };
  callbacks.on_disconnected = [this] { member_.post_event(member::Disconnected{}); };
  callbacks.on_problem = [this](Error const& error) { problem(error); };
  callbacks.on_refused = [this](Error const& error) { refused(error); };
  return {io_, caller(), std::move(callbacks)};
}

net::ControlSide RemoteLink::caller() const {
  net::ControlSide side(options_.facts.host);
  side.run_id = options_.run_id;
  side.security = options_.security;
  return side;
}

net::PeerLines RemoteLink::make_peer_lines() {
  return {io_, caller(), [this](control::Letter letter) { answered(std::move(letter)); }};
}

bool RemoteLink::must_host() const {
  return options_.is_host.value_or(options_.job.given_ranks && options_.facts.given_rank == 0);
}

// They would meet in the endpoint's store.
TorchrunWatch::Callbacks RemoteLink::watch_callbacks() {
  TorchrunWatch::Callbacks callbacks;
  callbacks.is_settled = [this] {
    return over_ || hosting_.hosts() || job_began_ || options_.job.store_at_endpoint;
  };
  callbacks.on_met_here = [this](Error const& error) {
    post([this, error] { torchrun_met(error); });
  };
  callbacks.on_met_there = [this](Error const& error) { post([this, error] { fail(error); }); };
  return callbacks;
}

std::string RemoteLink::places_text() const {
  std::string text;
  for (auto const& place : options_.places) text += (text.empty() ? "" : ",") + to_text(place);
  return text;
}

}  // namespace muster::launch
