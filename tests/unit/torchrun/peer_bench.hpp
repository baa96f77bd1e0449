// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peers around one store value under virtual time. What torchrun's agents do, tests do with edit().

#include "rendezvous/torchrun/peer_step.hpp"

#include <catch2/catch.hpp>

#include <deque>

namespace muster::torchrun {

struct PeerBench {
  struct Peer {
    PeerState state;
    TimePoint wake = TimePoint::max();
    std::vector<std::string> stops, said;
    std::vector<std::int64_t> rounds;  // whose workers were started
    std::optional<Seat> agreeing;
    std::optional<std::int64_t> barrier;
    std::optional<PeerEnd> end;
    int reads = 0, writes = 0, lost_writes = 0;
    bool answers = true;  // false: the store does not answer it

    std::vector<NodeDesc> const& members() const { return state.seat->members; }
  };

  TimePoint now{std::chrono::seconds{1'000}};
  std::int64_t utc_us = 1'700'000'000'000'000;
  std::string value;
  std::map<std::int64_t, std::int64_t> at_barrier;
  std::deque<Peer> peers;
  bool agree_at_once = true;
  PeerSettings settings;

  explicit PeerBench(std::uint32_t least = 2, std::uint32_t most = 2) {
    settings.nodes = {least, most};
    settings.join_timeout = std::chrono::seconds{60};
  }

  static NodeDesc torch_node(std::string addr) { return {std::move(addr), 1, 0}; }

  Peer& start(std::string addr) {
    auto& peer = peers.emplace_back();
    peer.state.settings = settings;
    peer.state.self = {std::move(addr), 10, kMusterId};
    peer.state.run_id = "job";
    peer.state.endpoint = "head:29400";
    peer.state.chance = Random{peers.size()};
    event(peer, peer::Begin{});
    return peer;
  }

  RoundState state() const {
    auto const decoded = decode_state(value);
    REQUIRE(decoded);
    return decoded->value_or(RoundState{});
  }
  template <class F>
  void edit(F const& change) {
    auto changed = state();
    change(changed);
    value = encode_state(changed);
  }
  // What a torchrun agent writes each five seconds.
  void beat(NodeDesc const& node, std::int64_t clock_ahead_us = 0) {
    edit([&](RoundState& s) {
      s.last_heartbeats[node] = {utc_us + clock_ahead_us, writes_aware_times(s)};
    });
  }
  void join_as_torchrun(NodeDesc const& node) {
    edit([&](RoundState& s) {
      auto const last_call = 30'000'000;
      add_participant(s, node, {utc_us + last_call, true}, settings.nodes);
      s.last_heartbeats[node] = {utc_us, true};
      if (s.participants.size() == settings.nodes.max_nodes) complete_round(s, std::nullopt);
    });
  }

  // What an effect leads to happens after the step that it belongs to.
  void event(Peer& to, peer::Event const& happened) {
    events_.emplace_back(&to, happened);
    if (std::exchange(busy_, true)) return;
    while (!events_.empty()) {
      auto const [peer, next] = std::move(events_.front());
      events_.pop_front();
      for (auto const& effect : peer_step(peer->state, next, {now, utc_us}))
        carry_out(*peer, effect);
    }
    busy_ = false;
  }
  // Time passes; who asked to be woken is.
  void pass(Duration time) {
    auto const end = now + time;
    for (;;) {
      auto next = end;
      for (auto const& peer : peers)
        if (!peer.end) next = std::min(next, std::max(peer.wake, now));
      utc_us += std::chrono::duration_cast<std::chrono::microseconds>(next - now).count();
      now = next;
      bool woken = false;
      for (auto& peer : peers) {
        if (peer.end || peer.wake > now) continue;
        woken = true;
        peer.wake = TimePoint::max();
        event(peer, peer::Tick{});
      }
      if (!woken && now >= end) return;
    }
  }
  // These torchrun agents keep their heartbeats fresh while time passes.
  void pass_beating(Duration time, std::vector<NodeDesc> const& nodes) {
    constexpr auto kStep = std::chrono::seconds{2};
    for (auto const end = now + time; now < end;) {
      for (auto const& node : nodes) beat(node);
      pass(std::min<Duration>(kStep, end - now));
    }
  }

  void workers_stopped(Peer& peer) { event(peer, peer::WorkersStopped{}); }
  bool runs(Peer const& peer) const { return peer.state.phase == PeerPhase::running; }

 private:
  void carry_out(Peer& peer, peer::Effect const& effect) {
    if (std::holds_alternative<peer::Read>(effect)) {
      ++peer.reads;
      answer(peer);
    } else if (auto const* write = std::get_if<peer::Replace>(&effect)) {
      ++peer.writes;
      auto const wins = peer.answers && value == write->expected;
      if (wins) value = write->desired;
      if (!wins) ++peer.lost_writes;
      answer(peer);
    } else if (auto const* seat = std::get_if<peer::Agree>(&effect)) {
      peer.agreeing = seat->seat;
      if (agree_at_once) event(peer, peer::Agreed{seat->seat.round, seat->seat.members.front()});
    } else if (std::holds_alternative<peer::StopAgreeing>(effect)) {
      peer.agreeing.reset();
    } else if (std::holds_alternative<peer::StartWorkers>(effect)) {
      peer.rounds.push_back(peer.state.seat->round);
    } else if (auto const* stop = std::get_if<peer::StopWorkers>(&effect)) {
      peer.stops.push_back(stop->why);
    } else if (auto const* barrier = std::get_if<peer::EnterBarrier>(&effect)) {
      peer.barrier = barrier->round;
      ++at_barrier[barrier->round];
    } else if (auto const* count = std::get_if<peer::Count>(&effect)) {
      event(peer, peer::Counted{count->round, at_barrier[count->round]});
    } else if (auto const* text = std::get_if<peer::Say>(&effect)) {
      peer.said.push_back(text->text);
    } else if (auto const* wake = std::get_if<peer::WakeAt>(&effect)) {
      peer.wake = wake->at;
    } else {
      peer.end = std::get<peer::End>(effect).end;
    }
  }
  void answer(Peer& peer) {
    if (value.empty()) value = kNoState;
    if (peer.answers)
      event(peer, peer::StoreAnswered{value});
    else
      event(peer, peer::StoreFailed{Error{Errc::unreachable, "connect to head: refused", {}}});
  }

  std::deque<std::pair<Peer*, peer::Event>> events_;
  bool busy_ = false;
};

}  // namespace muster::torchrun
