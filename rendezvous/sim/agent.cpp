// SPDX-License-Identifier: Apache-2.0
// A member in its process, and how what it asks for is carried out.

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/story.hpp"
#include "rendezvous/sim/world.hpp"

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr std::uint16_t kControlPort = 29'500;
constexpr std::uint16_t kStoreAtEndpoint = 29'501;
constexpr Duration kProbePatience = 3s;
constexpr Duration kHostLingers = 7s;  // at most, once its own member knows the end

MemberState new_member(World const& world, Node const& node, NodeIndex index, Incarnation self) {
  MemberState member;
  auto& facts = member.facts;
  facts.incarnation = self;
  facts.host = node.name;
  facts.address = node.address;
  if (world.plan().job.given_ranks) facts.given_rank = static_cast<std::int32_t>(index);
  facts.local_world_size = node.local_world_size;
  facts.control_port = kControlPort;
  member.job = world.plan().job;
  member.run_id = "sim";
  member.backend = "c10d";
  member.endpoint = world.plan().daemon ? "daemon" : node_name(0);
  return member;
}

}  // namespace

void World::start_agent(NodeIndex index) {
  auto& node = nodes[index];
  auto const* before = last_on(index);
  if (!node.powered || node.frozen || (before && !before->gone)) return;
  ++started_;
  // Where nothing is left to chance a name tells nothing of what came first.
  auto const all = static_cast<std::uint32_t>(nodes.size());
  ProcessId const id{plan_->exact ? 1 + index + node.lives * all : started_};
  auto& process = processes[id];
  process.id = id;
  process.node = index;
  process.life = ++node.lives;
  node.process = id;
  if (tells(Telling::what_matters)) tell(name_of(process) + " starts");
  if (plan_->daemon && index == plan_->nodes) return;
  auto const chance = plan_->drift > 0 ? agenda.below(1u << 16) : 0;
  process.member = new_member(*this, node, index, incarnation_of(id, chance));
  for (auto const& effect : member_start(*process.member, node_time(process)))
    perform(process, effect);
  // Whoever has the endpoint's address hosts, as long as nobody says that the job lives elsewhere.
  if (!plan_->daemon && index == 0) newborn(process, plan_->job);
  call_host(process);
}

void World::feed(Process& process, member::Event event) {
  if (!process.member || !process.alive || process.ending) return;
  auto& member = *process.member;
  auto const marks = MemberMarks::of(member);
  auto const before = twist_ ? member : MemberState{};
  if (twist_) twist_->before_member(member, event);
  auto effects = member_step(member, event, node_time(process));
  if (twist_) twist_->after_member(before, member, effects);
  evidence_.members.push_back({process.id, marks, MemberMarks::of(member)});
  reassure_guardian(process);
  auto const id = process.id;
  for (auto const& effect : effects) perform(at(id), effect);
}

void World::perform(Process& process, member::Effect const& effect) {
  std::visit(Overload{
                 [&](member::Say const& e) { say(process, e.message); },
                 [&](member::CallSeat const& e) { call_seat(process, e); },
                 [&](member::Reply const& e) {
                   auto const caller = process.callers.find(e.to);
                   if (caller == process.callers.end()) return;
                   control::Letter letter{header_of(*process.member), e.message};
                   if (auto const* vote = std::get_if<VoteReply>(&e.message))
                     evidence_.note_vote(letter.header, *vote, e.to);
                   network.send(caller->second, Side::callee, wrap(std::move(letter)), agenda);
                 },
                 [&](member::CallHost const& e) {
                   if (tells(Telling::what_matters))
                     tell(name_of(process) + " now calls " +
                          (e.host.address.empty() ? "the endpoint" : e.host.host));
                   process.target = e.host;
                   call_host(process);
                 },
                 [&](member::BecomeHost const& e) { become_host(process, e.host); },
                 [&](member::StepDown const& e) {
                   if (tells(Telling::what_matters))
                     tell(name_of(process) + " hosts no longer: " + e.by.host.host +
                          " does, epoch " + std::to_string(e.by.epoch.value));
                   if (process.hosting && !process.hosting->finished)
                     feed_host(process, Overruled{e.by});
                   process.in_process = false;
                 },
                 [&](member::KeepLastWord const& e) { keep_last_word(process, e); },
                 [&](member::OpenStoreNow const& e) { open_store(process, e.wish); },
                 [](member::AdmitToStore const&) {},  // addresses do not change here
                 [&](member::ProbePeers const& e) { probe(process, e.probe); },
                 [&](member::StartWorkers const& e) { start_workers(process, e.commit); },
                 [&](member::StopWorkers const& e) { stop_workers(process, e); },
                 [&](member::PauseWorkers const&) { hold_workers(process); },
                 [&](member::ResumeWorkers const&) { let_workers_go_on(process); },
                 [&](member::Conclude const& e) {
                   if (tells(Telling::what_matters))
                     tell(name_of(process) + " ends: " +
                          (e.outcome.success ? std::string("success")
                                             : "exit " + std::to_string(e.outcome.exit_code) +
                                                   ", " + e.outcome.why));
                   process.outcome = e.outcome;
                   evidence_.ends.push_back(process.id);
                   conclude(process);
                 },
                 [&](member::GiveUp const& e) {
                   if (tells(Telling::what_matters))
                     tell(name_of(process) + " gives up: " + e.error.what);
                   process.error = e.error;
                   evidence_.ends.push_back(process.id);
                   conclude(process);
                 },
                 [&](member::Tell const& e) {
                   if (tells(Telling::what_matters)) tell(name_of(process) + ": " + e.text);
                 },
                 [&](member::WakeAt const& e) {
                   if (process.member_wake == e.at) return;
                   process.member_wake = e.at;
                   auto const late = nodes[process.node].late + agenda.up_to(plan_->jitter);
                   agenda.plan(world_time(process, e.at) - moment() + late,
                               due::MemberTick{process.id, e.at});
                 },
             },
             effect);
}

void World::say(Process& process, Message const& message) {
  control::Letter letter{header_of(*process.member), message};
  if (auto const* vote = std::get_if<VoteReply>(&message)) {
    auto const* line = process.to_host ? network.find(*process.to_host) : nullptr;
    auto const* host = line ? &at(line->callee) : &process;
    if (host->hosting) evidence_.note_vote(letter.header, *vote, host->hosting->host.self);
  }
  auto parcel = wrap(std::move(letter));
  if (process.in_process)
    agenda.plan(plan_->own_letter, due::OwnLetter{process.id, true, std::move(parcel)});
  else if (process.to_host)
    network.send(*process.to_host, Side::caller, std::move(parcel), agenda);
}

void World::open_store(Process& process, OpenStore const& wish) {
  auto& node = nodes[process.node];
  StoreOpened const result{
      wish.round, plan_->job.store_at_endpoint ? kStoreAtEndpoint : node.next_port++, {}};
  evidence_.stores.push_back({process.id, result});
  notify(process, member::StoreIsOpen{result}, plan_->local_work + agenda.up_to(plan_->jitter));
}

// Each target is dialled; over a cut link nobody answers.
void World::probe(Process& process, Probe const& probe) {
  Probed result;
  result.round = probe.round;
  result.attempt = probe.attempt;
  for (auto const& target : probe.targets) {
    auto const to = node_at(target.address);
    auto const reached = to < nodes.size() && nodes[to].powered && !nodes[to].frozen &&
                         !network.is_cut_either_way(process.node, to);
    if (!reached) result.failures.push_back({target, "no answer"});
  }
  auto const time = plan_->local_work + 2 * network.weather.most_delay;
  notify(process, member::PeersProbed{result}, result.failures.empty() ? time : kProbePatience);
}

void World::become_host(Process& process, Host host) {
  if (tells(Telling::what_matters))
    tell(name_of(process) + " takes over as host, epoch " + std::to_string(host.epoch.value) +
         ", round " + std::to_string(host.highest.value));
  leave_host(process);
  if (process.hosting)  // an older reign: its members must join the new one
    for (auto const& [member, route] : process.hosting->routes)
      if (route) network.hang_up(*route, Side::callee, agenda);
  auto const& own = nodes[process.node];
  process.target = {host.self, own.name, own.address, kControlPort};
  process.hosting = Hosting{std::move(host), process.member->job, {}, {}, TimePoint::max(), false};
  process.in_process = true;
  auto marks = HostMarks::of(process.hosting->host);
  marks.phase = Phase::gathering;  // it had none
  note_moments(process.hosting->host, marks);
  feed_host(process, Tick{});
  if (!process.watching) watch(process);
  feed(process, member::Connected{});
}

// The agent has heard the end: it leaves when its workers are dead, and a host when all others were
// told or had their time.
void World::conclude(Process& process) {
  process.ended_at = moment();
  process.ending = true;
  if (process.outcome) process.guardian.finished = true;
  if (process.workers.round != RoundNumber{}) return kill_workers(process);
  exit_if_done(process);
  if (!process.gone) agenda.plan(kHostLingers, due::Leave{process.id});
}

void World::exit_if_done(Process& process) {
  if (!process.ending || process.workers.round != RoundNumber{}) return;
  auto const hosts =
      process.hosting && !process.hosting->finished && !process.hosting->host.members.empty();
  if (hosts && moment() < process.ended_at + kHostLingers) return;
  process.alive = false;
  network.process_gone(process.id, agenda, word_lines(process));
  process_gone(process);
}

}  // namespace muster::sim
