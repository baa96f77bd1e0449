// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/torchrun_link.hpp"

#include "rendezvous/base/ip_address.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/base/overload.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/torchrun/peer_step.hpp"

#include <algorithm>
#include <utility>

namespace muster::launch {
namespace {

namespace peer = torchrun::peer;

// Who hosts leaves last. When all is well the others are done, and only say so; when it is not,
// muster's see within a second that it is over, and torchrun's when the store is gone.
constexpr Duration kFarewell = std::chrono::seconds{5};
constexpr Duration kFarewellAfterFailure = std::chrono::seconds{3};
constexpr Duration kFarewellLook = std::chrono::milliseconds{20};
constexpr std::size_t kMostHostsNamed = 1'024;

torchrun::PeerState make_peer(TorchrunLinkOptions const& options) {
  torchrun::PeerState state;
  state.settings = options.settings;
  state.self = {options.facts.address, options.pid, torchrun::kMusterId};
  state.run_id = options.run_id;
  state.endpoint = to_text(options.place);
  state.chance = Random{options.seed};
  return state;
}

}  // namespace

TorchrunLink::TorchrunLink(net::asio::io_context& io, TorchrunLinkOptions options)
    : io_(io),
      options_(std::move(options)),
      timer_(io),
      farewell_(io),
      peer_(make_peer(options_)),
      host_(io, host_options(), host_callbacks()) {
  exchange_.emplace(io, options_.place, options_.run_id, exchange_callbacks());
}

TorchrunHost::Options TorchrunLink::host_options() const {
  return {options_.place, options_.facts.host, options_.is_host};
}

TorchrunHost::Callbacks TorchrunLink::host_callbacks() {
  TorchrunHost::Callbacks callbacks;
  callbacks.on_decided = [this] { post_event(peer::Begin{}); };
  callbacks.on_problem = [this](Error const& error) { peer_.last_problem = error; };
  callbacks.on_failed = [this](Error const& error) {
    post([this, error] { finish({false, false, 0, "", {}, error}); });
  };
  return callbacks;
}

TorchrunExchange::Callbacks TorchrunLink::exchange_callbacks() {
  TorchrunExchange::Callbacks callbacks;
  callbacks.on_state = [this](std::string value, std::string const& own_address) {
    post([this, value = std::move(value), own_address] {
      met(own_address);
      event(peer::StoreAnswered{value});
    });
  };
  callbacks.on_failed = [this](Error const& error) { post([this, error] { not_met(error); }); };
  callbacks.on_counted = [this](std::int64_t round, std::int64_t agents) {
    post_event(peer::Counted{round, agents});
  };
  callbacks.on_barrier_passed = [this](std::int64_t round) {
    post_event(peer::BarrierPassed{round});
  };
  return callbacks;
}

// What the agent says.

void TorchrunLink::join(MembershipListener& listener) {
  listener_ = &listener;
  post([this] { host_.start(); });
}

void TorchrunLink::workers_failed(WorkerFailure failure) {
  if (failure.round != number_) return;
  post_event(peer::WorkersFailed{failure.exit_code, std::move(failure.report)});
}

void TorchrunLink::workers_done(RoundNumber round) {
  if (round == number_) post_event(peer::WorkersDone{});
}

void TorchrunLink::stopped(RoundNumber, std::uint32_t) {
  post_event(peer::WorkersStopped{});
}

void TorchrunLink::leave(int exit_code, std::string why) {
  post_event(peer::LeaveWanted{exit_code, std::move(why)});
}

// torchrun's agents go on without a node that they have not heard for as long as `dead`.
Duration TorchrunLink::silence() const {
  return options_.settings.dead() * 4 / 5;
}

// What the peer wants.

void TorchrunLink::post(std::function<void()> call) {
  net::asio::post(io_, [alive = std::weak_ptr<bool>(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  });
}

void TorchrunLink::post_event(peer::Event event) {
  post([this, event = std::move(event)] { this->event(event); });
}

void TorchrunLink::event(peer::Event const& event) {
  if (end_) return;
  auto const alive = std::weak_ptr<bool>(alive_);
  timer_.cancel();
  for (auto const& effect : peer_step(peer_, event, {now(), wall_clock_ns() / 1'000})) {
    carry_out(effect);
    if (alive.expired()) return;  // the agent let go of its link inside a callback
  }
}

void TorchrunLink::carry_out(peer::Effect const& effect) {
  std::visit(
      Overload{
          [this](peer::Read) { exchange_->read(); },
          [this](peer::Replace const& e) { replace(e); },
          [this](peer::Agree const& e) { agree(e.seat); },
          [this](peer::StopAgreeing) { agreement_.reset(); },
          [this](peer::StartWorkers) { start_workers(); },
          [this](peer::StopWorkers const& e) { listener_->on_stop(number_, std::nullopt, e.why); },
          [this](peer::EnterBarrier e) {
            exchange_->enter_barrier(e.round, peer_.seat->members.size());
          },
          [this](peer::Count e) { exchange_->count(e.round); },
          [this](peer::Say const& e) { listener_->on_note(e.text); },
          [this](peer::End const& e) { finish(e.end); },
          [this](peer::WakeAt e) { wake_at(e.at); },
      },
      effect);
}

void TorchrunLink::wake_at(TimePoint at) {
  timer_.expires_after(Deadline{at}.left(now()));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) event(peer::Tick{});
  });
}

// By what address others know us is settled by the first connection: no name that only this node
// can resolve (W6).
void TorchrunLink::met(std::string const& own_address) {
  host_.somebody_answered();
  if (!peer_.self.addr.empty()) return;
  auto const misleads = is_loopback_address(own_address) && !is_loopback_place(options_.place.host);
  peer_.self.addr = misleads ? options_.place.host : own_address;
}

void TorchrunLink::not_met(Error const& error) {
  if (!peer_.has_met) host_.nobody_answered();
  event(peer::StoreFailed{error});
}

// A round.

void TorchrunLink::agree(torchrun::Seat const& seat) {
  TorchrunAgreement::Callbacks callbacks;
  callbacks.open_store = [this] { return open_store(); };
  callbacks.renew_store = [this] { return renew_store(); };
  callbacks.on_end = [this, round = seat.round](Result<TorchrunRound> result) {
    post([this, round, result = std::move(result)] { agreed(round, result); });
  };
  torchrun::RoleInfo const role{options_.facts.role, options_.facts.local_world_size};
  agreement_.emplace(
      io_, TorchrunAgreement::Options{options_.place, options_.run_id, seat, role, peer_.self.addr},
      std::move(callbacks));
}

void TorchrunLink::agreed(std::int64_t round, Result<TorchrunRound> result) {
  if (!agreement_ || !peer_.seat || peer_.seat->round != round) return;
  agreement_.reset();
  if (!result) return event(peer::NotAgreed{round, result.error()});
  round_ = *std::move(result);
  event(peer::Agreed{round, *round_->store.owner});
}

Result<std::uint16_t> TorchrunLink::open_store() {
  auto const host = listen_address(peer_.self.addr, options_.facts.networks);
  auto acceptor = options_.store_ports.empty()
                      ? net::listen_on(io_, host, 0)
                      : net::listen_in_ranges(io_, host, options_.store_ports, {});
  if (!acceptor) return std::move(acceptor).error();
  workers_store_.emplace(*std::move(acceptor), net::ServerOptions());
  return workers_store_->port();
}

// The round is complete: every member has stopped its workers of the one before.
Result<std::uint16_t> TorchrunLink::renew_store() {
  if (!workers_store_) return open_store();
  workers_store_->renew_keys();
  return workers_store_->port();
}

void TorchrunLink::start_workers() {
  exchange_->leave_barrier();  // of the round before, whoever may still stand there
  listener_->on_round(next_view());
}

RoundView TorchrunLink::next_view() {
  auto const& [seat, ranks, store] = *round_;
  RoundView view;
  number_ = RoundNumber{
      std::max<std::uint64_t>(number_.value, static_cast<std::uint64_t>(seat.round)) + 1};
  view.round = number_;
  view.restart_count = peer_.restarts;
  if (view_ && view_->restart_count == view.restart_count) view.repeat = view_->repeat + 1;
  view.group_rank = static_cast<int>(seat.rank);
  view.group_world_size = static_cast<int>(seat.members.size());
  view.rank_base = static_cast<int>(ranks.rank_base);
  view.world_size = static_cast<int>(ranks.world_size);
  view.role_rank_base = static_cast<int>(ranks.role_rank_base);
  view.role_world_size = static_cast<int>(ranks.role_world_size);
  view.master_addr = store.address;
  view.master_port = store.port;
  if (seat.members.size() <= kMostHostsNamed)
    for (auto const& member : seat.members) view.hosts.push_back(member.addr);
  for (auto const& network : options_.facts.networks)
    if (network.address == peer_.self.addr) {
      view.interface = network.interface;
      if (auto const ip = parse_ip(network.address))
        view.network = subnet_text(*ip, network.prefix_bits);
    }
  view_ = view;
  return view;
}

// The end.

// What the state cannot say is said before it is closed.
void TorchrunLink::replace(peer::Replace const& wish) {
  auto const& ending = peer_.ending;
  if (ending && ending->closes && !ending->success)
    exchange_->tell_end({ending->exit_code, ending->why, ending->reports});
  exchange_->replace(wish.expected, wish.desired);
}

void TorchrunLink::finish(torchrun::PeerEnd end) {
  if (end_) return;
  end_ = std::move(end);
  timer_.cancel();
  agreement_.reset();
  auto const by_others = end_->exit_code == exit_code_of(Errc::peer_lost) && !end_->closes;
  if (!by_others) return part();
  exchange_->hear_end([this](std::optional<torchrun::EndNote> note) {
    post([this, note = std::move(note)] { heard_end(note); });
  });
}

// Nobody ends with another code than the job's, if its end was a muster's doing.
void TorchrunLink::heard_end(std::optional<torchrun::EndNote> const& note) {
  if (note) {
    end_->exit_code = note->exit_code;
    end_->why = note->why;
    end_->reports = note->reports;
  }
  part();
}

void TorchrunLink::part() {
  exchange_.reset();
  auto const patience = end_->success ? kFarewell : kFarewellAfterFailure;
  auto const nobody_minds = !host_.hosts() || (!end_->success && !end_->closes);
  farewell_until_ = nobody_minds ? now() : now() + patience;
  post([this] { wait_for_others(); });
}

void TorchrunLink::wait_for_others() {
  if (now() >= farewell_until_ || host_.connections() == 0) return deliver();
  farewell_.expires_after(kFarewellLook);
  farewell_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) wait_for_others();
  });
}

void TorchrunLink::deliver() {
  host_.stop();
  if (end_->error) return listener_->on_error(*end_->error);
  listener_->on_outcome({end_->success, end_->exit_code, end_->why, end_->reports});
}

}  // namespace muster::launch
