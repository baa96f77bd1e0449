// SPDX-License-Identifier: Apache-2.0
// The made-up machine room: time, network, clocks, workers.

#include "tests/sim/world.hpp"

#include "rendezvous/base/overload.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr TimePoint kBegin{std::chrono::seconds{1'000}};

bool must_arrive(Message const& message) {
  // Lost only with their connection, after which the member joins again.
  return std::holds_alternative<Join>(message) || std::holds_alternative<Welcome>(message) ||
         std::holds_alternative<Refused>(message);
}

}  // namespace

Plan random_plan(Random& random) {
  Plan plan;
  plan.nodes = static_cast<std::uint32_t>(2 + random.below(4));
  plan.max_nodes = plan.nodes;
  plan.min_nodes = plan.nodes;
  if (random.below(3) == 0)
    plan.min_nodes = static_cast<std::uint32_t>(1 + random.below(plan.nodes));
  if (random.below(5) == 0) plan.max_nodes = std::max(2u, plan.nodes - 1);  // one too many
  plan.min_nodes = std::min(plan.min_nodes, plan.max_nodes);
  plan.max_restarts = static_cast<std::uint32_t>(random.below(4));
  if (random.below(4) == 0) {
    plan.given_ranks = plan.store_at_endpoint = true;
    plan.min_nodes = plan.max_nodes = plan.nodes;
  }
  plan.failure = 0.25 * static_cast<double>(random.below(4));
  if (random.below(2) == 0) plan.loss = 0.1 * random.unit();
  if (random.below(2) == 0) plan.twice = 0.2 * random.unit();
  if (random.below(2) == 0) plan.breaks_per_second = 0.3 * random.unit();
  plan.most_delay = std::chrono::milliseconds{1 + random.below(random.below(2) == 0 ? 5 : 200)};
  plan.spread = std::chrono::milliseconds{random.below(6'000)};
  auto const moment = [&random] { return std::chrono::milliseconds{random.below(12'000)}; };
  if (random.below(3) == 0) {
    plan.crash = static_cast<std::uint32_t>(random.below(plan.nodes));
    plan.crash_at = moment();
  }
  if (random.below(4) == 0) {
    plan.pause = static_cast<std::uint32_t>(random.below(plan.nodes));
    plan.pause_at = moment();
    plan.pause_for = std::chrono::milliseconds{random.below(random.below(2) == 0 ? 3'000 : 9'000)};
  }
  return plan;
}

World::World(std::uint64_t seed, Plan const& plan) : plan_(plan), random_(seed) {
  settings_.min_nodes = plan.min_nodes;
  settings_.max_nodes = plan.max_nodes;
  settings_.max_restarts = plan.max_restarts;
  settings_.given_ranks = plan.given_ranks;
  settings_.store_at_endpoint = plan.store_at_endpoint;
  settings_.join_timeout = 40s;
  host.run_id = "sim";
  host.generation = Generation{1};
  host.epoch = Epoch{1};
  host.self = Incarnation{1};
  host.name = "n0";
  nodes.resize(plan.nodes);
  for (std::uint32_t i = 0; i < plan.nodes; ++i)
    start_node(i, i == 0 ? Duration::zero() : up_to(plan.spread));
  if (plan.crash)
    at(plan.crash_at, [this] {
      auto& node = nodes[*plan_.crash];
      if (node.ended()) return;
      tell("n" + std::to_string(*plan_.crash) + " crashes");
      node.alive = false;
      node.workers = {};
    });
  if (plan.pause)
    at(plan.pause_at, [this] {
      tell("n" + std::to_string(*plan_.pause) + " pauses");
      nodes[*plan_.pause].paused_until = now + plan_.pause_for;
    });
}

void World::start_node(std::uint32_t index, Duration after) {
  auto& node = nodes[index];
  node.clock_offset = Duration{static_cast<std::int64_t>(random_.below(1'000'000'000'000))};
  node.clock_drift = 2e-4 * random_.unit() - 1e-4;
  node.state.facts.incarnation = Incarnation{index + 1};
  node.state.facts.host = "n" + std::to_string(index);
  node.state.facts.address = "10.0.0." + std::to_string(index + 1);
  node.state.facts.given_rank = static_cast<std::int32_t>(index);
  node.state.facts.local_world_size = 1 + index % 3;
  node.state.job = settings_;
  node.state.run_id = "sim";
  node.state.endpoint = "n0";
  at(after, [this, index] {
    auto& starting = nodes[index];
    if (!starting.alive) return;
    for (auto const& effect : member_start(starting.state, node_time(starting)))
      perform(index, effect);
    connect(index);
    schedule_breaks(index);
  });
}

void World::run(Duration limit) {
  while (!queue_.empty() && violations.empty()) {
    auto const due = queue_.top();
    queue_.pop();
    if (due.at - kBegin > limit) break;
    now = std::max(now, due.at);
    ++events;
    due.call();
    auto const over = std::all_of(nodes.begin(), nodes.end(),
                                  [](Node const& node) { return !node.alive || node.ended(); });
    if (over) break;
  }
  check_end();
}

void World::at(Duration after, Call call) {
  queue_.push({now + after, ++numbers_, std::move(call)});
}

Duration World::up_to(Duration most) {
  return most <= Duration::zero() ? Duration::zero()
                                  : Duration{static_cast<std::int64_t>(
                                        random_.below(static_cast<std::uint64_t>(most.count())))};
}

TimePoint World::node_time(Node const& node) const {
  auto const elapsed = static_cast<double>((now - kBegin).count());
  return kBegin + node.clock_offset +
         Duration{static_cast<std::int64_t>(elapsed * (1 + node.clock_drift))};
}

std::uint32_t World::index_of(Incarnation incarnation) const {
  return static_cast<std::uint32_t>(incarnation.value - 1);
}

Duration World::pause_left(std::uint32_t index) const {
  return Deadline{nodes[index].paused_until}.left(now);
}

void World::connect(std::uint32_t index) {
  auto& node = nodes[index];
  if (!node.alive || node.ended() || node.connected) return;
  if (!host_alive() && index != 0) return at(100ms, [this, index] { connect(index); });
  node.connected = true;
  ++node.connection;
  feed(index, member::Connected{});
}

void World::break_connection(std::uint32_t index) {
  auto& node = nodes[index];
  if (!node.alive || node.ended() || !node.connected || index == 0) return;
  tell("n" + std::to_string(index) + " loses its connection");
  node.connected = false;
  ++node.connection;
  feed(index, member::Disconnected{});
  if (host_alive()) feed_host(Disconnected{node.state.facts.incarnation});
  at(20ms + up_to(500ms), [this, index] { connect(index); });
}

void World::schedule_breaks(std::uint32_t index) {
  if (plan_.breaks_per_second <= 0) return;
  at(up_to(Duration{static_cast<std::int64_t>(2e9 / plan_.breaks_per_second)}), [this, index] {
    if (!faulty()) return;
    break_connection(index);
    schedule_breaks(index);
  });
}

// A message on its way: late, doubled, lost; and gone with the connection that it was sent on.
void World::carry(std::uint32_t index, Message const& message, Call deliver) {
  auto const own = index == 0;  // the host's own agent: the same process
  if (!own && faulty() && chance(plan_.loss) && !must_arrive(message)) return;
  auto const copies = !own && faulty() && chance(plan_.twice) && !must_arrive(message) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    auto const delay = own ? Duration{1'000} : Duration{50'000} + up_to(plan_.most_delay);
    auto const connection = nodes[index].connection;
    at(delay, [this, index, connection, deliver] {
      if (nodes[index].connection == connection) deliver();
    });
  }
}

void World::to_host(std::uint32_t index, Message message) {
  auto const header = header_of(nodes[index].state);
  carry(index, message, [this, index, header, message] {
    if (!host_alive()) return;
    if (auto const left = pause_left(0); left > Duration::zero()) {
      auto const connection = nodes[index].connection;
      return at(left, [this, index, connection, header, message] {
        if (nodes[index].connection == connection && host_alive())
          feed_host(Received{header, message, "10.0.0.9", "10.0.0.1"});
      });
    }
    feed_host(Received{header, message, "10.0.0.9", "10.0.0.1"});
  });
}

void World::to_node(Send const& sent) {
  auto const index = index_of(sent.to);
  if (!nodes[index].connected) return;
  Header const header{"sim", host.generation, host.epoch, last_round(host), host.self, 0};
  carry(index, sent.message, [this, index, header, message = sent.message] {
    feed(index, member::Heard{header, message});
  });
}

void World::feed_host(HostEvent const& event) {
  if (host_finished_) return;
  if (auto const* received = std::get_if<Received>(&event))
    heard_[received->header.incarnation] = now;
  auto const before = host.members;
  auto const step = host_step(host, event, now, settings_);
  for (auto const& sent : step.sends) {
    if (auto const* commit = std::get_if<Commit>(&sent.message)) check_record(commit->record);
    to_node(sent);
  }
  if (host.committed) check_record(*host.committed);
  check_table();
  check_evictions(before);
  if (step.finished) host_finished_ = true;
  host_wake_ = step.wake_at;
  if (step.wake_at == TimePoint::max()) return;
  auto const wake = std::max(step.wake_at, now + pause_left(0));
  at(wake - now, [this, wanted = step.wake_at] {
    if (host_wake_ != wanted || !host_alive()) return;
    if (auto const left = pause_left(0); left > Duration::zero())
      return at(left, [this, wanted] {
        if (host_wake_ == wanted && host_alive()) feed_host(Tick{});
      });
    feed_host(Tick{});
  });
}

void World::feed(std::uint32_t index, member::Event const& event) {
  auto& node = nodes[index];
  if (!node.alive || node.ended()) return;
  if (auto const left = pause_left(index); left > Duration::zero())
    return at(left, [this, index, event] { feed(index, event); });
  auto const epoch = node.state.epoch;
  auto const committed = status_of(node.state).committed;
  auto const effects = member_step(node.state, event, node_time(node));
  if (node.state.epoch < epoch || status_of(node.state).committed < committed)
    violate("n" + std::to_string(index) + ": its epoch or round fell");
  for (auto const& effect : effects) perform(index, effect);
}

void World::perform(std::uint32_t index, member::Effect const& effect) {
  auto& node = nodes[index];
  auto const name = "n" + std::to_string(index);
  std::visit(Overload{
                 [&](member::Say const& e) { to_host(index, e.message); },
                 [&](member::OpenStoreNow const& e) {
                   StoreOpened result{e.round, 4000, {}};
                   at(up_to(2ms),
                      [this, index, result] { feed(index, member::StoreIsOpen{result}); });
                 },
                 [&](member::StartWorkers const& e) { start_workers(index, e.commit); },
                 [&](member::StopWorkers const& e) {
                   stop_workers(index, e.round, e.grace == Duration::zero());
                 },
                 [&](member::Conclude const& e) {
                   tell(name + " ends: " + (e.outcome.success ? "success" : e.outcome.why));
                   if (node.workers != RoundNumber{} && e.outcome.success)
                     violate(name + " ends in success with workers alive");
                   node.outcome = e.outcome;
                   node.ended_at = now;
                   node.workers = {};  // the agent ends whatever is left
                 },
                 [&](member::GiveUp const& e) {
                   tell(name + " gives up: " + e.error.what);
                   node.error = e.error;
                   node.ended_at = now;
                   node.workers = {};
                 },
                 [&](member::WakeAt const& e) {
                   node.wake = e.at;
                   auto const wait = std::max(Duration{1}, e.at - node_time(node));
                   at(wait + 10us, [this, index, wanted = e.at] {
                     if (nodes[index].wake == wanted) feed(index, member::Tick{});
                   });
                 },
             },
             effect);
}

void World::start_workers(std::uint32_t index, Commit const& commit) {
  auto const round = commit.record.round;
  auto const name = "n" + std::to_string(index);
  tell(name + " starts round " + std::to_string(round.value));
  if (commit.row.node != nodes[index].state.facts.incarnation)
    violate(name + " was given somebody else's place");
  if (!records.contains(round.value)) violate(name + " starts a round that nobody committed");
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].alive && nodes[i].workers != RoundNumber{} && nodes[i].workers != round)
      violate("round " + std::to_string(round.value) + " starts on " + name + " while n" +
              std::to_string(i) + " runs round " + std::to_string(nodes[i].workers.value));
  nodes[index].workers = round;
  at(10ms + up_to(4s), [this, index, round] { end_of_workers(index, round); });
}

void World::end_of_workers(std::uint32_t index, RoundNumber round) {
  auto& node = nodes[index];
  if (!node.alive || node.ended() || node.workers != round) return;
  if (chance(plan_.failure)) {
    tell("n" + std::to_string(index) + ": a worker fails");
    Failure failure{round, 7, chance(0.3), 0, "report"};
    if (chance(0.5)) node.workers = {};  // all of them, or one with others still alive
    return feed(index, member::WorkersFailed{failure, node_time(node)});
  }
  tell("n" + std::to_string(index) + " is done");
  node.workers = {};
  node.last_done = round;
  feed(index, member::WorkersDone{round});
}

void World::stop_workers(std::uint32_t index, RoundNumber round, bool at_once) {
  auto const time = at_once ? up_to(20ms) : up_to(400ms);
  at(time, [this, index, round] {
    auto& node = nodes[index];
    if (node.workers <= round) node.workers = {};
    feed(index, member::WorkersStopped{round});
  });
}

void World::tell(std::string line) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - kBegin).count();
  story.push_back(std::to_string(ms) + " ms: " + std::move(line));
}

void World::violate(std::string line) {
  tell("VIOLATION: " + line);
  violations.push_back(std::move(line));
}

}  // namespace muster::sim
