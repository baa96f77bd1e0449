// SPDX-License-Identifier: Apache-2.0
// A host in its process, an agent's or the daemon's, and how what it asks for is carried out.

#include "rendezvous/sim/story.hpp"
#include "rendezvous/sim/world.hpp"

namespace muster::sim {

using namespace membership;

Hosting& World::newborn(Process& process, JobSettings const& job) {
  Host host;
  host.run_id = "sim";
  host.generation = Generation{++generations_};  // later than any before, as a clock gives it
  host.epoch = Epoch{1};
  host.self = process.member ? process.member->facts.incarnation : incarnation_of(process.id, 0);
  host.name = nodes[process.node].name;
  process.hosting = Hosting{std::move(host), job, {}, {}, TimePoint::max(), false};
  return *process.hosting;
}

control::Letter World::letter_of(Hosting const& hosting, Message message) const {
  auto const& host = hosting.host;
  return {{host.run_id, host.generation, host.epoch, last_round(host), host.self, 0},
          std::move(message)};
}

void World::host_hears(Process& process, ConnectionId id, control::Letter const& letter) {
  auto& hosting = *process.hosting;
  auto const from = letter.header.incarnation;
  auto const own = id.caller == ProcessId{};
  if (std::holds_alternative<Join>(letter.message)) {
    auto const [route, is_new] = hosting.routes.try_emplace(from);
    if (!is_new && route->second && (own || *route->second != id))
      network.hang_up(*route->second, Side::callee, agenda);
    route->second = own ? std::nullopt : std::optional{id};
  }
  auto const says_lease = std::holds_alternative<Lease>(letter.message);
  // As net::HostedJob does: who has not joined this reign calls again, and joins.
  if (says_lease && !own && !hosting.routes.contains(from))
    return network.hang_up(id, Side::callee, agenda);
  auto const keeps_lease = says_lease && letter.header.generation == hosting.host.generation &&
                           letter.header.epoch == hosting.host.epoch;
  if (keeps_lease || std::holds_alternative<Join>(letter.message)) hosting.heard[from] = moment();
  Received event;
  event.header = letter.header;
  event.message = letter.message;
  event.seen_from = own ? "127.0.0.1" : nodes[network.find(id)->from].address;
  if (!own) event.reached_at = nodes[process.node].address;
  feed_host(process, std::move(event));
}

void World::feed_host(Process& process, HostEvent event) {
  auto& hosting = *process.hosting;
  if (hosting.finished || !process.alive) return;
  auto& host = hosting.host;
  auto const time = node_time(process);
  HostMarks const marks = HostMarks::of(host);
  auto const before = twist_ ? host : Host{};
  if (twist_) twist_->before_host(host, event, time);
  auto step = host_step(host, event, time, hosting.job);
  if (twist_) twist_->after_host(before, host, step);
  evidence_.note_host(process, marks, event);
  if (tells(Telling::what_matters)) tell_host(process, marks, step.why);
  note_moments(host, marks);
  for (auto const& sent : step.sends) host_sends(process, sent);
  if (step.finished) return host_finished(process, step);
  if (hosting.wake == step.wake_at) return;
  hosting.wake = step.wake_at;
  if (step.wake_at == TimePoint::max()) return;
  auto const late = nodes[process.node].late + agenda.up_to(plan_->jitter);
  agenda.plan(world_time(process, step.wake_at) - moment() + late,
              due::HostTick{process.id, step.wake_at});
}

void World::note_moments(Host const& host, HostMarks const& before) {
  auto const has_come = [&](Moment moment) {
    auto const entered = [&](Phase phase) { return host.phase == phase && before.phase != phase; };
    switch (moment) {
      case Moment::prepared:
        return host.proposal && host.proposal->prepared.size() > before.prepared;
      case Moment::committed:
        return host.committed && !host.committed->outcome &&
               mark_of(*host.committed) != before.committed;
      case Moment::concluding:
        return entered(Phase::concluding);
      case Moment::telling:
        return entered(Phase::telling);
      case Moment::resuming:
        return entered(Phase::resuming);
    }
    return false;
  };
  auto const at_times = static_cast<std::uint32_t>(plan_->faults.size());
  for (std::uint32_t i = 0; i < passed_.size(); ++i) {
    auto const& fault = plan_->at_moments[i];
    if (has_come(fault.when) && ++passed_[i] == fault.nth)
      agenda.plan(Duration::zero(), due::FaultStrikes{at_times + i});
  }
}

void World::host_sends(Process& process, Send const& sent) {
  auto& hosting = *process.hosting;
  auto const route = hosting.routes.find(sent.to);
  if (route == hosting.routes.end()) return;
  auto parcel = wrap(letter_of(hosting, sent.message));
  if (!route->second) {
    agenda.plan(plan_->own_letter, due::OwnLetter{process.id, false, std::move(parcel)});
    return;
  }
  network.send(*route->second, Side::callee, std::move(parcel), agenda);
  if (!std::holds_alternative<Refused>(sent.message)) return;
  network.hang_up(*route->second, Side::callee, agenda);
  hosting.routes.erase(route);
}

void World::tell_host(Process const& process, HostMarks const& before, Why const& why) {
  auto const& host = process.hosting->host;
  auto const self = name_of(process) + " as host";
  for (auto const& place : before.members)
    if (!host.members.contains(place.node))
      tell(self + " no longer counts " + name_of(place.node) + " (" + host.change_why + ")");
  if (host.phase != before.phase) tell(self + ": " + explain(why, node_time(process)));
  if (!host.committed || mark_of(*host.committed) == before.committed) return;
  auto const& record = *host.committed;
  std::string names;
  for (auto const& row : host.table) names += " " + name_of(row.node);
  tell(self + " has committed round " + std::to_string(record.round.value) + ", epoch " +
       std::to_string(record.epoch.value) + ", " + std::string(membership::name_of(record.reason)) +
       (record.outcome ? (record.outcome->success ? ": success" : ": " + record.outcome->why)
                       : ":" + names));
}

// The job is over here, or goes on elsewhere.
void World::host_finished(Process& process, HostStep const& step) {
  auto& hosting = *process.hosting;
  hosting.finished = true;
  if (step.successor) process.elsewhere = step.successor;
  for (auto const& [member, route] : hosting.routes)
    if (route) network.hang_up(*route, Side::callee, agenda);
  if (process.is_agent()) return exit_if_done(process);
  process.hosting.reset();
}

}  // namespace muster::sim
