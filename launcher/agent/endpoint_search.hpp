// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whose job is it to host? The endpoint is a list of places. Whoever owns the first one (can bind
// it) hosts at once; the owner of a later one first asks at those before it, each of them and for a
// quiet period, and hosts if there is no host and no owner; everybody else calls them in turn.
// Control thread only; callbacks may come from inside a call.

#include "launcher/agent/endpoint_bind.hpp"
#include "launcher/agent/endpoint_words.hpp"
#include "rendezvous/net/dialer.hpp"

#include <memory>
#include <optional>

namespace muster::launch {

struct EndpointSearchOptions {
  std::vector<net::Place> places;
  std::string own_name;       // of this machine
  bool must_host = false;     // anything else is an error
  bool may_host = true;       // false: calls only
  bool one_listener = false;  // a place with several addresses is bound on all of this machine's
  Duration quiet{};
};

class EndpointSearch {
 public:
  struct Callbacks {
    std::function<void(Bound)> on_bound;  // a place is ours: listen there
    // Whether we listen there already, on one of these addresses.
    std::function<bool(std::vector<std::string> const& addresses, std::uint16_t port)> listens;
    std::function<void()> on_host;  // nobody hosts: it is up to us. The search is over.
    // Call these, in turn. `neighbour`: another process of this machine listens there.
    std::function<void(std::vector<net::Place>, bool neighbour)> on_call;
    std::function<void(Error const&)> on_problem;  // the search goes on
    std::function<void(Error const&)> on_failed;   // and here it does not
  };

  EndpointSearch(net::asio::io_context& io, EndpointSearchOptions options, Callbacks callbacks);
  EndpointSearch(EndpointSearch const&) = delete;
  EndpointSearch& operator=(EndpointSearch const&) = delete;

  // Also for another search, when the host was lost.
  void start();
  // A host is known.
  void stop();
  // The job has begun somewhere: it is not ours to begin anew.
  void forbid_hosting();

  // While it runs: a call failed, or whoever answered knows of no host. A place may have become
  // ours since it was looked at.
  void nobody_answered();
  // An owner of an earlier place is there, and has not decided yet.
  void somebody_decides();

  // Whether we are the owner of a place who has not decided yet.
  bool decides() const { return running_ && own_ && hosting_allowed(); }
  bool owns_first_place() const { return own_ == 0u; }
  // The places with what their names were here, when they were last looked up.
  std::vector<AskedPlace> asked_places() const;
  std::vector<net::Place> other_places() const;  // all but the one that is ours

 private:
  void look_at(std::size_t place);
  void resolved(std::size_t place, net::error_code const& ec, std::vector<std::string> addresses);
  void settle();
  void look_later();
  void wait_for_owners();
  void try_to_host();
  void call(std::vector<net::Place> places);
  bool hosting_allowed() const { return options_.must_host || (options_.may_host && !forbidden_); }

  net::asio::io_context& io_;
  EndpointSearchOptions options_;
  Callbacks callbacks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::tcp::resolver resolver_;
  net::asio::steady_timer timer_;
  std::vector<std::vector<std::string>> resolved_;  // by place
  std::optional<std::size_t> own_;                  // the place that is ours
  std::optional<std::vector<net::Place>> called_;
  bool running_ = false, looking_ = false, neighbour_ = false, forbidden_ = false;
  TimePoint look_again_{}, quiet_until_{};
  std::size_t unanswered_ = 0;  // calls in a row, one place after another
};

}  // namespace muster::launch
