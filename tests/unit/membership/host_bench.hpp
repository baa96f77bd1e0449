// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host under test, and what it said last. Members are numbered from 1; the host is member 1.

#include "rendezvous/membership/host_step.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <map>

namespace muster::membership {

struct HostBench {
  Host host;
  JobSettings settings;
  TimePoint now{std::chrono::seconds{1'000}};
  HostStep last;
  std::vector<Send> sends;  // since the last clear()
  bool finished = false;
  std::map<std::uint64_t, std::int64_t> host_stamps;  // of each member's newest ACK

  explicit HostBench(std::uint32_t nodes = 2) {
    settings.min_nodes = settings.max_nodes = nodes;
    host.run_id = "job";
    host.generation = Generation{1};
    host.epoch = Epoch{1};
    host.self = Incarnation{1};
    host.name = "n1";
  }

  void event(HostEvent const& happened) {
    last = host_step(host, happened, now, settings);
    sends.insert(sends.end(), last.sends.begin(), last.sends.end());
    finished = finished || last.finished;
    for (auto const& sent : last.sends)
      if (auto const* ack = std::get_if<Ack>(&sent.message))
        host_stamps[sent.to.value] = ack->host_stamp_ns;
  }
  // As a member of its present reign says it; who joins for the first time knows of none.
  void say(std::uint64_t member, Message message) {
    auto const* join = std::get_if<Join>(&message);
    auto const is_new = join && join->status.committed == RoundNumber{} &&
                        !host.members.contains(Incarnation{member});
    auto const epoch = is_new ? Epoch{} : host.epoch;
    event(Received{{"job", host.generation, epoch, {}, Incarnation{member}, 0},
                   std::move(message),
                   "10.0.0." + std::to_string(member),
                   "10.0.0.1"});
  }
  Join join_of(std::uint64_t member) const {
    Join join;
    join.facts.host = "n" + std::to_string(member);
    if (settings.given_ranks) join.facts.given_rank = static_cast<std::int32_t>(member) - 1;
    join.job = settings;
    join.backend = "c10d";
    return join;
  }
  void join(std::uint64_t member) { say(member, join_of(member)); }
  void tick(Duration later) {
    now += later;
    event(Tick{});
  }
  // Time passes in small ticks, as long as everybody in `talking` renews its lease.
  void pass(Duration time, std::vector<std::uint64_t> const& talking) {
    auto const end = now + time;
    while (now < end) {
      now += std::chrono::milliseconds{100};
      for (auto const member : talking) lease(member);
      event(Tick{});
    }
  }
  Lease lease_of(std::uint64_t member, Status status = {}) {
    Lease made;
    made.stamp_ns = now.time_since_epoch().count();
    made.host_stamp_ns = host_stamps[member];
    made.dead_ns = settings.dead.count();
    made.status = status;
    return made;
  }
  void lease(std::uint64_t member, Status status = {}) { say(member, lease_of(member, status)); }

  template <class M>
  std::vector<M> to(std::uint64_t member) const {
    std::vector<M> found;
    for (auto const& sent : sends)
      if (sent.to == Incarnation{member})
        if (auto const* message = std::get_if<M>(&sent.message)) found.push_back(*message);
    return found;
  }
  void clear() { sends.clear(); }

  // Members answer what was asked since the last clear().
  void open_store() {
    auto const round = host.proposal->record.round;
    say(host.proposal->table.front().node.value, StoreOpened{round, 4000, {}});
  }
  void answer_probes() {
    auto const probing = host.proposal->probing;
    for (auto const node : probing) say(node.value, Probed{host.proposal->record.round, 0, {}});
  }
  void prepare_all() {
    answer_probes();
    auto const round = host.proposal->record.round;
    auto const voters = host.proposal->record.voters;
    for (auto const& voter : voters) say(voter.node.value, Prepared{round, {}});
  }
  // n members join and their round runs.
  void run(std::uint64_t members) {
    for (std::uint64_t i = 1; i <= members; ++i) join(i);
    open_store();
    prepare_all();
    REQUIRE(host.phase == Phase::running);
  }
  // Everybody's workers of the present round are dead; the next one is prepared and begins.
  void next_round(std::vector<std::uint64_t> const& members) {
    auto const old = round();
    for (auto const member : members) say(member, Stopped{old, 0});
    open_store();
    prepare_all();
    REQUIRE(host.phase == Phase::running);
  }
  RoundNumber round() const { return host.workers_round; }
  Failed failure(std::int32_t code, std::int64_t age_ns = 0, bool consequence = false) const {
    return {{round(), code, consequence, age_ns, "report " + std::to_string(code)}};
  }
};

}  // namespace muster::membership
