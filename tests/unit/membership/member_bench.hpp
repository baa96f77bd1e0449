// SPDX-License-Identifier: Apache-2.0
#pragma once
// A member under test, and what it did since the last clear(). It is member 7; 1 hosts.

#include "rendezvous/membership/member_step.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace muster::membership {

struct MemberBench {
  MemberState state;
  TimePoint now{std::chrono::seconds{1'000}};
  std::vector<member::Effect> effects;
  Epoch epoch{1};

  MemberBench() {
    state.facts.incarnation = Incarnation{7};
    state.facts.host = "n7";
    state.run_id = "job";
    state.endpoint = "head:29400";
    state.job.join_timeout = std::chrono::seconds{60};
    take(member_start(state, now));
  }
  void take(std::vector<member::Effect> more) {
    for (auto& effect : more) effects.push_back(std::move(effect));
  }
  void event(member::Event const& happened) { take(member_step(state, happened, now)); }
  Header header(std::uint64_t from) const {
    return {"job", Generation{1}, epoch, {}, Incarnation{from}, 0};
  }
  void hear(Message message, std::uint64_t host = 1) {
    event(member::Heard{header(host), std::move(message)});
  }
  void peer(std::uint64_t from, Message message, RoundNumber round = {}) {
    auto head = header(from);
    head.round = round;
    event(member::PeerSaid{head, std::move(message)});
  }
  void later(Duration time) {
    now += time;
    event(member::Tick{});
  }
  void welcome(std::uint64_t host = 1) {
    event(member::Connected{});
    hear(Welcome{"head", state.job}, host);
  }
  // Of a world of the nodes 1, 7 and 8, hosted by 1.
  Record record(std::uint64_t round) const {
    Record made;
    made.generation = Generation{1};
    made.epoch = epoch;
    made.round = RoundNumber{round};
    made.host = Incarnation{1};
    made.voters = {{Incarnation{1}, "head", "10.0.0.1", 1},
                   {Incarnation{7}, "n7", "10.0.0.7", 7},
                   {Incarnation{8}, "n8", "10.0.0.8", 8}};
    made.nodes = made.world_size = 3;
    return made;
  }
  Commit commit(std::uint64_t round) const {
    Commit made;
    made.record = record(round);
    made.row.node = state.facts.incarnation;
    made.row.group_rank = 1;
    return made;
  }
  void run(std::uint64_t round = 1) {
    welcome();
    hear(commit(round));
  }
  void acknowledge(std::int64_t stamp_ns) {
    hear(Ack{stamp_ns, now.time_since_epoch().count(), 0, 0, {}});
  }
  void acknowledge() { acknowledge(now.time_since_epoch().count()); }
  // Time passes while the host acknowledges each lease.
  void pass(Duration time) {
    auto const end = now + time;
    while (now < end) {
      later(std::chrono::milliseconds{100});
      for (auto const& lease : said<Lease>()) acknowledge(lease.stamp_ns);
      clear();
    }
  }
  // Time passes and nobody says anything.
  void silence(Duration time) {
    auto const end = now + time;
    while (now < end) later(std::chrono::milliseconds{50});
  }
  template <class M>
  std::vector<M> said() const {
    std::vector<M> found;
    for (auto const& effect : effects)
      if (auto const* say = std::get_if<member::Say>(&effect))
        if (auto const* message = std::get_if<M>(&say->message)) found.push_back(*message);
    return found;
  }
  // What voter `to` was asked.
  template <class M>
  std::vector<M> called(std::uint64_t to) const {
    std::vector<M> found;
    for (auto const& effect : effects)
      if (auto const* call = std::get_if<member::CallSeat>(&effect))
        if (call->seat.node == Incarnation{to})
          if (auto const* message = std::get_if<M>(&call->message)) found.push_back(*message);
    return found;
  }
  template <class M>
  std::vector<M> replied(std::uint64_t to) const {
    std::vector<M> found;
    for (auto const& effect : effects)
      if (auto const* reply = std::get_if<member::Reply>(&effect))
        if (reply->to == Incarnation{to})
          if (auto const* message = std::get_if<M>(&reply->message)) found.push_back(*message);
    return found;
  }
  template <class E>
  std::vector<E> did() const {
    std::vector<E> found;
    for (auto const& effect : effects)
      if (auto const* one = std::get_if<E>(&effect)) found.push_back(*one);
    return found;
  }
  void clear() { effects.clear(); }
};

}  // namespace muster::membership
