// SPDX-License-Identifier: Apache-2.0
// Time goes on: what is due happens, in the process that it is due to, or when that can run again.

#include "rendezvous/sim/world.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/story.hpp"

#include <algorithm>
#include <exception>

namespace muster::sim {

using namespace membership;

World::World(std::uint64_t seed, Plan plan, Telling telling, Twist const* twist)
    : agenda(seed, plan.exact),
      network(plan.nodes + (plan.daemon ? 1 : 0)),
      plan_(std::make_shared<Plan const>(std::move(plan))),
      script_(plan_->script),
      passed_(plan_->at_moments.size()),
      telling_(telling),
      twist_(twist) {
  network.least_delay = plan_->least_delay;
  network.weather = plan_->weather;
  nodes.resize(plan_->nodes + (plan_->daemon ? 1 : 0));
  for (NodeIndex i = 0; i < nodes.size(); ++i) {
    auto& node = nodes[i];
    node.name = node_name(i);
    node.address = "10.0.0." + std::to_string(i + 1);
    node.local_world_size = 1 + i % 3;
    if (plan_->drift > 0) {
      node.clock_offset = agenda.up_to(std::chrono::hours{1});
      node.clock_drift = plan_->drift * (static_cast<double>(agenda.below(2'001)) / 1'000.0 - 1.0);
    }
    auto const daemon = plan_->daemon && i == plan_->nodes;
    auto const late = std::find(plan_->late.begin(), plan_->late.end(), i) != plan_->late.end();
    if (late) continue;
    auto const start =
        daemon ? Duration::zero() : i * plan_->start_step + agenda.up_to(plan_->spread);
    agenda.plan(start, due::StartAgent{i});
  }
  for (std::uint32_t i = 0; i < plan_->faults.size(); ++i)
    agenda.plan(plan_->faults[i].at, due::FaultStrikes{i});
}

void World::run(Duration limit) {
  while (!agenda.empty() && checker.violations.empty() && !everybody_ended()) {
    if (agenda.next_at() - kBegin > limit) break;
    happen(agenda.take());
  }
  if (checker.violations.empty()) checker.check_end(*this);
  if (tells(Telling::what_matters))
    for (auto const& violation : checker.violations) tell("VIOLATION of " + to_text(violation));
}

void World::happen(Happening const& what) {
  ++events;
  evidence_.clear();
  try {
    if (!defer(what)) carry_out(what);
  } catch (std::exception const& failure) {
    checker.violations.push_back({0, std::string("a core threw an exception: ") + failure.what()});
  }
  checker.check(*this, evidence_);
}

void World::carry_out(Happening const& what) {
  auto const with = [this](auto act) {
    return [this, act](auto const& due) { (this->*act)(at(due.process)); };
  };
  std::visit(Overload{
                 [this](due::Dialed const& d) { dialed(d); },
                 [this](due::Opened const& d) { opened(d); },
                 [this](due::DialFailed const& d) { dial_failed(d); },
                 [this](due::Arrival const& d) { arrived(d); },
                 [this](due::Flush const& d) { network.flush(d, agenda); },
                 [this](due::Heal const&) { network.heal(agenda); },
                 [this](due::Gust const& d) { network.break_off(d.connection, agenda); },
                 [this](due::MemberTick const& d) {
                   auto& process = at(d.process);
                   if (process.member_wake == d.wanted) feed(process, member::Tick{});
                 },
                 [this](due::HostTick const& d) {
                   auto& process = at(d.process);
                   if (process.hosting && process.hosting->wake == d.wanted)
                     feed_host(process, Tick{});
                 },
                 [this](due::OwnLetter const& d) {
                   auto& process = at(d.process);
                   if (!process.in_process) return;
                   if (!d.to_host)
                     return feed(process, member::Heard{d.parcel->header, d.parcel->message});
                   if (process.hosting) host_hears(process, ConnectionId{}, *d.parcel);
                 },
                 [this](due::CallHostAgain const& d) {
                   auto& process = at(d.process);
                   if (process.calls == d.attempt) call_host(process);
                 },
                 [this](due::Notice const& d) { feed(at(d.process), *d.event); },
                 [this](due::WorkersEnd const& d) { workers_end(at(d.process), d); },
                 [this](due::StartAgent const& d) { start_agent(d.node); },
                 [this](due::Resume const& d) { resume(d); },
                 [this](due::FaultStrikes const& d) { strike_planned(d.index); },
                 [&](due::Watch const& d) { with (&World::watch)(d); },
                 [this](due::WorkersDead const& d) { workers_dead(d); },
                 [&](due::Leave const& d) { with (&World::exit_if_done)(d); },
                 [&](due::GuardianLooks const& d) { with (&World::guardian_looks)(d); },
                 [&](due::CallForWord const& d) { with (&World::call_for_word)(d); },
             },
             what);
}

void World::strike(Fault const& fault) {
  ++events;
  evidence_.clear();
  apply(fault);
  checker.check(*this, evidence_);
}

void World::drop_stale() {
  std::set<std::pair<ProcessId, bool>> ticks;  // one of each: a wake may be set anew and back again
  agenda.drop_if([&](Happening const& what) {
    if (auto const* tick = std::get_if<due::MemberTick>(&what))
      return at(tick->process).member_wake != tick->wanted ||
             !ticks.emplace(tick->process, false).second;
    if (auto const* tick = std::get_if<due::HostTick>(&what)) {
      auto const& hosting = at(tick->process).hosting;
      return !hosting || hosting->finished || hosting->wake != tick->wanted ||
             !ticks.emplace(tick->process, true).second;
    }
    if (auto const* end = std::get_if<due::WorkersEnd>(&what))
      return at(end->process).workers.stretch != end->stretch;
    if (auto const* dead = std::get_if<due::WorkersDead>(&what))
      return at(dead->process).workers.start != dead->start;
    if (auto const* call = std::get_if<due::CallHostAgain>(&what))
      return at(call->process).calls != call->attempt;
    if (auto const* arrival = std::get_if<due::Arrival>(&what)) {
      auto const* connection = network.find(arrival->connection);
      if (!connection) return true;
      // At a side that has closed; where a machine forgot the connection the sender is told.
      auto const is_answered = connection->forgotten && arrival->parcel;
      return !connection->is_open(arrival->at) && !is_answered;
    }
    if (auto const* call = std::get_if<due::Dialed>(&what)) return !network.find(call->connection);
    auto const* failed = std::get_if<due::DialFailed>(&what);
    if (failed && !network.find(failed->connection)) return true;
    if (auto const* flush = std::get_if<due::Flush>(&what)) return !network.find(flush->connection);
    if (auto const* looks = std::get_if<due::GuardianLooks>(&what))
      return !at(looks->process).alive;
    if (auto const* call = std::get_if<due::CallForWord>(&what)) return !at(call->process).alive;
    if (auto const* leave = std::get_if<due::Leave>(&what)) return at(leave->process).gone;
    auto const* owner = actor(what);
    return owner && !owner->alive;
  });
}

// Whose turn it is: null where nobody's program has to run for it.
Process* World::actor(Happening const& what) {
  auto const caller_of = [this](ConnectionId id) -> Process* {
    auto const found = processes.find(id.caller);
    return found == processes.end() ? nullptr : &found->second;
  };
  return std::visit(Overload{
                        [&](due::Opened const& d) { return caller_of(d.connection); },
                        [&](due::DialFailed const& d) { return caller_of(d.connection); },
                        [&](due::MemberTick const& d) { return &at(d.process); },
                        [&](due::HostTick const& d) { return &at(d.process); },
                        [&](due::OwnLetter const& d) { return &at(d.process); },
                        [&](due::CallHostAgain const& d) { return &at(d.process); },
                        [&](due::Watch const& d) { return &at(d.process); },
                        [&](due::Notice const& d) { return &at(d.process); },
                        [](auto const&) -> Process* { return nullptr; },
                    },
                    what);
}

// A program that is stopped finds it later; so does a machine that stands still.
bool World::defer(Happening const& what) {
  if (auto* process = actor(what)) {
    if (!process->alive) return true;
    if (can_run(*process)) return false;
    process->inbox.push_back(what);
    return true;
  }
  auto const of_machine =
      std::visit(Overload{
                     [this](due::WorkersEnd const& d) { return &at(d.process); },
                     [this](due::WorkersDead const& d) { return &at(d.process); },
                     [this](due::GuardianLooks const& d) { return &at(d.process); },
                     [this](due::CallForWord const& d) { return &at(d.process); },
                     [](auto const&) -> Process* { return nullptr; },
                 },
                 what);
  if (!of_machine) return false;
  if (of_machine->gone) return true;
  if (!nodes[of_machine->node].frozen) return false;
  of_machine->inbox.push_back(what);
  return true;
}

// With an outcome, nobody who is left knows of the job: whoever comes now begins another one.
bool World::everybody_ended() const {
  auto const over = checker.outcome().has_value();
  auto const late = std::any_of(plan_->late.begin(), plan_->late.end(),
                                [this](NodeIndex node) { return nodes[node].lives == 0; });
  if (!over && (late || processes.empty() || elapsed() <= plan_->last_start())) return false;
  return std::all_of(processes.begin(), processes.end(), [over](auto const& entry) {
    auto const& process = entry.second;
    if (process.gone || !process.is_agent()) return true;
    return over && !process.member->voter.committed && !process.member->voter.prepared;
  });
}

bool World::can_run(Process const& process) const {
  return !process.stopped && !nodes[process.node].frozen;
}

Process const* World::last_on(NodeIndex node) const {
  auto const found = processes.find(nodes[node].process);
  return found == processes.end() ? nullptr : &found->second;
}

Process const* World::find(Incarnation incarnation) const {
  auto const found = processes.find(process_of(incarnation));
  return found == processes.end() ? nullptr : &found->second;
}

Process* World::listener(NodeIndex node) {
  auto const found = processes.find(nodes[node].process);
  if (found == processes.end() || !found->second.alive) return nullptr;
  return &found->second;
}

NodeIndex World::node_at(std::string const& address) const {
  for (NodeIndex i = 0; i < nodes.size(); ++i)
    if (nodes[i].address == address) return i;
  return static_cast<NodeIndex>(nodes.size());
}

std::string World::name_of(Process const& process) const {
  auto name = nodes[process.node].name;
  if (process.life > 1) name += "'" + std::to_string(process.life);
  return name;
}

std::string World::name_of(Incarnation incarnation) const {
  auto const* process = find(incarnation);
  return process ? name_of(*process) : "nobody";
}

TimePoint World::node_time(Process const& process) const {
  auto const& node = nodes[process.node];
  auto const passed = static_cast<double>(elapsed().count()) * node.clock_drift;
  return moment() + node.clock_offset + Duration{static_cast<std::int64_t>(passed)};
}

TimePoint World::world_time(Process const& process, TimePoint then) const {
  if (then == TimePoint::max()) return then;
  auto const wait = static_cast<double>((then - node_time(process)).count());
  auto const& node = nodes[process.node];
  return moment() + Duration{static_cast<std::int64_t>(wait / (1 + node.clock_drift))};
}

Duration World::calm_at() const {
  if (plan_->calm_after > Duration::zero()) return plan_->calm_after;
  auto latest = plan_->last_start();
  for (auto const& fault : plan_->faults)
    latest = std::max(latest, fault.at + length_of(fault.what));
  return latest;
}

// Two waits for nodes and a silent one, one after the other, and the script's time.
Duration World::last_moment() const {
  auto const& job = plan_->job;
  return calm_at() + 2 * job.join_timeout + job.dead_at_min + 4 * script_.most_work +
         std::chrono::seconds{60};
}

Parcel World::wrap(control::Letter letter) const {
  if (plan_->through_codec) letter = *control::decode(control::encode(std::move(letter)));
  return std::make_shared<control::Letter const>(std::move(letter));
}

void World::tell(std::string line) {
  story.push_back(moment_text(elapsed()) + "  " + std::move(line));
}

void World::trace(Process const& to, control::Letter const& letter) {
  tell("    " + name_of(letter.header.incarnation) + " -> " + name_of(to) + "  " +
       describe(letter));
}

}  // namespace muster::sim
