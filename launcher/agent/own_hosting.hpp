// SPDX-License-Identifier: Apache-2.0
#pragma once
// This agent as its job's host, or as one that may become it: where others call it (own_listener),
// the herald that tells the endpoint where it hosts, the static workers' store, and its end, which
// waits for the others'. Control thread only.

#include "launcher/agent/herald.hpp"
#include "launcher/agent/link_member.hpp"
#include "launcher/agent/link_options.hpp"
#include "launcher/agent/own_listener.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace muster::launch {

class OwnHosting {
 public:
  // `called`: what others say to this agent's member. Options, member and lines outlive this.
  OwnHosting(net::asio::io_context& io, RemoteLinkOptions const& options, LinkMember& member,
             net::PeerLines& lines, std::function<void(control::Letter)> called);
  OwnHosting(OwnHosting const&) = delete;
  OwnHosting& operator=(OwnHosting const&) = delete;

  OwnListener& ear() { return ear_; }
  // The endpoint's own store. Where it is the workers' (static) it is not the token that guards it.
  bool serves_store() const;
  // So that others can call this node beside its connection to `place`: the host and its voters do
  // so at the address by which it came.
  void listen_beside(net::Place const& place, std::string const& own_address);

  // Nobody hosts the job; `told`: where people ask for it, and this agent does not listen.
  void begin(std::vector<net::Place> told);
  // The host before was lost.
  void take_over(membership::Host const& host, std::vector<net::Place> told);
  void overrule(membership::HostIs const& by);
  // The job must not begin. False where it has.
  bool forbid(Error const& error);
  bool hosts() const { return hosts_; }
  // By which address and port it is reached, where it speaks of itself.
  void add_address(membership::HostIs& is) const;

  // Where it hosts: calls `deliver`, later, when all others were told, or had their time.
  void leave_last(std::function<void()> deliver);
  // Nobody is to be told, if the job never came here.
  void give_up() { hosts_ = hosts_ && ear_.service().hosted(options_.run_id).has_value(); }

  // Set where the store of the workers is the endpoint's (static).
  std::optional<Result<std::uint16_t>> open_store(StoreWish const& wish);
  bool admit_to_store(StoreWish const& wish);

 private:
  net::HostServiceOptions serving(std::function<void(control::Letter)> called);
  void announce(std::vector<net::Place> told);
  void listen_at(std::string const& address);
  void service_finished();
  void say_farewell_in(Duration time);

  RemoteLinkOptions const& options_;
  LinkMember& member_;
  bool hosts_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::asio::steady_timer farewell_;
  std::function<void()> deliver_;
  OwnListener ear_;
  Herald herald_;
};

}  // namespace muster::launch
