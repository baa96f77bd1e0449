// SPDX-License-Identifier: Apache-2.0
#pragma once
// The membership of a job in which torchrun's agents take part (--rdzv-conf=peers=torchrun): their
// shared state decides, and torchrun::peer_step says what this agent does about it. Carries that
// out: the store (torchrun_exchange), who serves it (torchrun_host), the members' talk at the start
// of a round (torchrun_agreement). No leases, no succession: if the store goes, the job goes.
// Control thread only.

#include "launcher/agent/link_options.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/agent/torchrun_agreement.hpp"
#include "launcher/agent/torchrun_exchange.hpp"
#include "launcher/agent/torchrun_host.hpp"
#include "rendezvous/base/port_range.hpp"
#include "rendezvous/torchrun/peer_event.hpp"

namespace muster::launch {

// facts.address: to be reached at; "": where the store sees this node.
struct TorchrunLinkOptions : LinkOptions {
  net::Place place;                    // the endpoint; one only, as torchrun knows no more
  std::optional<bool> is_host;         // unset: found out by binding
  std::vector<PortRange> store_ports;  // of the workers' store; empty: the system chooses
  torchrun::PeerSettings settings;
  std::int64_t pid = 0;  // tells apart the agents of one machine
  std::uint64_t seed = 0;
};

class TorchrunLink final : public MembershipLink {
 public:
  TorchrunLink(net::asio::io_context& io, TorchrunLinkOptions options);

  void join(MembershipListener& listener) override;
  void workers_failed(WorkerFailure failure) override;
  void workers_done(RoundNumber round) override;
  void stopped(RoundNumber round, std::uint32_t unclean) override;
  void leave(int exit_code, std::string why) override;
  Duration silence() const override;

 private:
  TorchrunHost::Options host_options() const;
  TorchrunHost::Callbacks host_callbacks();
  TorchrunExchange::Callbacks exchange_callbacks();

  void post(std::function<void()> call);
  void post_event(torchrun::peer::Event event);
  void event(torchrun::peer::Event const& event);
  void carry_out(torchrun::peer::Effect const& effect);
  void wake_at(TimePoint at);
  void met(std::string const& own_address);
  void not_met(Error const& error);

  void agree(torchrun::Seat const& seat);
  void agreed(std::int64_t round, Result<TorchrunRound> result);
  Result<std::uint16_t> open_store();
  Result<std::uint16_t> renew_store();
  void start_workers();
  RoundView next_view();

  void replace(torchrun::peer::Replace const& wish);
  void finish(torchrun::PeerEnd end);
  void heard_end(std::optional<torchrun::EndNote> const& note);
  void part();
  void wait_for_others();
  void deliver();

  net::asio::io_context& io_;
  TorchrunLinkOptions options_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::asio::steady_timer timer_, farewell_;
  torchrun::PeerState peer_;
  TorchrunHost host_;
  std::optional<TorchrunExchange> exchange_;
  std::optional<TorchrunAgreement> agreement_;
  std::optional<TorchrunRound> round_;  // the last one agreed upon
  std::optional<net::Server> workers_store_;
  RoundNumber number_;  // ours: torchrun's begin with 0, and may be agreed upon twice
  std::optional<RoundView> view_;
  std::optional<torchrun::PeerEnd> end_;
  TimePoint farewell_until_{};
};

}  // namespace muster::launch
