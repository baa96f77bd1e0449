// SPDX-License-Identifier: Apache-2.0
// The guardian of an agent: it ends the workers of an agent that does not run, or is dead, and says
// the last word on connections that the agent had opened.

#include "rendezvous/sim/world.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr Duration kOwnLateness = 500ms;
constexpr Duration kCallAgain = 1s;

}  // namespace

// Told at every event how long this node certainly counts: half-way between the moment at which the
// agent itself fences and that at which others may take its node for lost.
void World::reassure_guardian(Process& process) {
  auto& guardian = process.guardian;
  auto const& member = *process.member;
  guardian.due = TimePoint::max();
  if (!member.job.leases || process.workers.round == RoundNumber{}) return;
  if (member.acked == TimePoint::max() || member.dead == Duration::zero()) return;
  auto const limit = (fence_of(member.dead) + member.dead) / 2;
  auto const until = std::max(member.acked + limit, member.ask_until + kOwnLateness);
  guardian.due = std::max(world_time(process, until), moment() + kOwnLateness);
  plan_look(process);
}

void World::plan_look(Process& process) {
  auto& guardian = process.guardian;
  if (guardian.looks_at <= guardian.due) return;
  guardian.looks_at = guardian.due;
  agenda.plan(guardian.due - moment(), due::GuardianLooks{process.id});
}

void World::guardian_looks(Process& process) {
  auto& guardian = process.guardian;
  if (moment() >= guardian.looks_at) guardian.looks_at = TimePoint::max();
  if (!guardian.alive || !process.alive || guardian.due == TimePoint::max()) return;
  auto const late = moment() > guardian.due + kOwnLateness;  // we did not run either
  if (late) guardian.due = moment() + kOwnLateness;
  if (moment() < guardian.due) return plan_look(process);
  guardian.due = TimePoint::max();
  if (process.workers.round == RoundNumber{}) return;
  if (tells(Telling::what_matters))
    tell(name_of(process) + ": the guardian fences, for the agent does not run");
  if (plan_->guardian_ends_agent) return agent_killed(process);
  auto const failing = !process.workers.failed && !process.workers.stop_order;
  kill_workers(process);
  if (!failing) return;
  process.workers.failed = true;
  Failure const failure{process.workers.round, exit_code_of(Errc::fenced), false, 0, {}};
  notify(process, member::WorkersFailed{failure, node_time(process)}, Duration::zero());
}

void World::keep_last_word(Process& process, member::KeepLastWord const& wish) {
  auto& guardian = process.guardian;
  auto header = header_of(*process.member);
  header.round = wish.round;
  header.epoch = wish.epoch;
  guardian.word = control::Letter{std::move(header), LastWord{process.member->facts.incarnation}};
  guardian.voters = wish.voters;
  aim_last_word(process);
}

// At the voters where this agent hosts, else at the host that it has.
void World::aim_last_word(Process& process) {
  auto& guardian = process.guardian;
  if (!guardian.word) return;
  std::vector<NodeIndex> targets;
  for (auto const& seat : guardian.voters)
    if (auto const node = node_at(seat.address); node < nodes.size()) targets.push_back(node);
  if (guardian.voters.empty() && process.to_host)
    if (auto const* line = network.find(*process.to_host)) targets.push_back(line->to);
  std::vector<WordLine> lines;
  for (auto const node : targets) {
    auto const known = std::find_if(guardian.lines.begin(), guardian.lines.end(),
                                    [node](WordLine const& line) { return line.node == node; });
    lines.push_back({node, known == guardian.lines.end() ? std::nullopt : known->connection});
  }
  for (auto const& old : guardian.lines) {
    auto const kept = std::any_of(lines.begin(), lines.end(),
                                  [&](WordLine const& line) { return line.node == old.node; });
    if (!kept && old.connection) network.hang_up(*old.connection, Side::caller, agenda);
  }
  guardian.lines = std::move(lines);
  call_for_word(process);
}

void World::call_for_word(Process& process) {
  if (!process.alive) return;
  for (auto& line : process.guardian.lines) {
    if (line.connection && network.find(*line.connection)) continue;
    line.connection = network.dial(process.id, process.node, line.node, Purpose::last_word, agenda);
  }
}

void World::last_word_line_ended(Process& process, ConnectionId id) {
  for (auto& line : process.guardian.lines) {
    if (line.connection != id) continue;
    line.connection.reset();
    agenda.plan(kCallAgain, due::CallForWord{process.id});
  }
}

std::set<ConnectionId> World::word_lines(Process const& process) const {
  std::set<ConnectionId> lines;
  if (!process.guardian.alive) return lines;
  for (auto const& line : process.guardian.lines)
    if (line.connection) lines.insert(*line.connection);
  return lines;
}

// SIGKILL of the agent alone: the kernel closes its connections but for those that the guardian
// holds, and the guardian ends the workers.
void World::agent_killed(Process& process) {
  if (!process.alive) return;
  process.alive = false;
  process.stopped = false;
  process.inbox.clear();
  network.process_gone(process.id, agenda, word_lines(process));
  if (process.workers.round == RoundNumber{}) return process_gone(process);
  if (process.guardian.alive) return kill_workers(process);
  process.workers.round = {};  // by PDEATHSIG
  process_gone(process);
}

// Agent and workers are gone. The proof is said on whatever connections stand.
void World::process_gone(Process& process) {
  auto& guardian = process.guardian;
  process.gone = true;
  if (!guardian.alive) return;
  auto const speaks = guardian.word && !guardian.finished && process.workers.unclean == 0;
  if (speaks) evidence_.words.push_back(std::get<LastWord>(guardian.word->message).node);
  for (auto const& line : guardian.lines) {
    if (!line.connection) continue;
    if (speaks) network.send(*line.connection, Side::caller, wrap(*guardian.word), agenda);
    network.hang_up(*line.connection, Side::caller, agenda);
  }
  guardian.lines.clear();
}

}  // namespace muster::sim
