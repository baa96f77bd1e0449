// SPDX-License-Identifier: Apache-2.0
// Most of what an event touches is its own machine. What else: calls look whether somebody is
// there, letters whether the link is cut, workers' ends at their peers, and the invariants at much.

#include "rendezvous/sim/touch.hpp"

#include "rendezvous/base/overload.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

constexpr Touch kEverything{};

void add(std::vector<Touch>& touches, Touch touch) {
  if (std::find(touches.begin(), touches.end(), touch) == touches.end()) touches.push_back(touch);
}

Touch touch(Thing thing, How how, NodeIndex node = 0) {
  return {thing, how, node};
}

}  // namespace

bool in_conflict(Touch const& a, Touch const& b) {
  if (a.thing == Thing::everything || b.thing == Thing::everything) return true;
  if (a.thing != b.thing || a.node != b.node) return false;
  return a.how != b.how || a.how == How::changes;
}

bool in_conflict(std::vector<Touch> const& a, std::vector<Touch> const& b) {
  return std::any_of(a.begin(), a.end(), [&](Touch const& one) {
    return std::any_of(b.begin(), b.end(),
                       [&](Touch const& other) { return in_conflict(one, other); });
  });
}

namespace {

bool same_line(WordLine const& a, WordLine const& b) {
  return a.node == b.node && a.connection == b.connection;
}

}  // namespace

Sight Sight::of(World const& world) {
  Sight sight;
  for (auto const& [id, process] : world.processes)
    sight.agents.push_back(
        {id, process.node, process.alive, process.gone, process.workers, process.guardian.lines});
  auto const& known = world.checker.known();
  sight.known = known.dead.size() + known.failed.size();
  for (auto const& [mark, holders] : known.holders) sight.known += holders.size();
  sight.judges_progress = world.checker.judges_progress(world);
  return sight;
}

std::vector<Touch> touches_of(World const& world, Happening const& what, NodeIndex owner) {
  if (owner == kNoNode) return {kEverything};
  std::vector<Touch> touches{touch(Thing::program, How::changes, owner)};
  auto const crosses = [&](ConnectionId id) {
    auto const* connection = world.network.find(id);
    if (connection && connection->from != connection->to)
      add(touches, touch(Thing::links, How::looks));
    return connection;
  };
  std::visit(Overload{
                 [&](due::Arrival const& d) { crosses(d.connection); },
                 [&](due::Flush const& d) { crosses(d.connection); },
                 [&](due::Dialed const& d) {
                   if (auto const* connection = crosses(d.connection))
                     add(touches, touch(Thing::life, How::looks, connection->to));
                 },
                 // No rank ends well alone: it looks at its peers.
                 [&](due::WorkersEnd const&) {
                   add(touches, touch(Thing::workers, How::changes));
                   add(touches, touch(Thing::records, How::looks));
                 },
                 [&](due::StartAgent const&) {
                   add(touches, touch(Thing::births, How::changes));
                   add(touches, touch(Thing::records, How::changes));
                 },
                 [&](due::Resume const&) { add(touches, kEverything); },
                 [](auto const&) {},
             },
             what);
  return touches;
}

std::vector<Touch> touches_of(World const&, Fault const& fault) {
  return std::visit(
      Overload{
          [](fault::PowerLoss const& f) {
            return std::vector{touch(Thing::program, How::changes, f.node),
                               touch(Thing::program, How::changes, guardian_of(f.node)),
                               touch(Thing::life, How::changes, f.node),
                               touch(Thing::workers, How::adds)};
          },
          [](fault::Partition const&) { return std::vector{touch(Thing::links, How::changes)}; },
          [](auto const&) { return std::vector{kEverything}; },
      },
      fault);
}

namespace {

void add_of_agent(std::vector<Touch>& touches, Sight::Agent const& then, Sight::Agent const& now) {
  if (now.alive != then.alive) add(touches, touch(Thing::life, How::changes, now.node));
  auto const same_lines = std::equal(now.lines.begin(), now.lines.end(), then.lines.begin(),
                                     then.lines.end(), same_line);
  if (!same_lines || now.alive != then.alive || now.gone != then.gone)
    add(touches, touch(Thing::program, How::changes, guardian_of(now.node)));
  auto const& before = then.workers;
  auto const& after = now.workers;
  auto const runs = after.round != RoundNumber{};
  if (runs && (after.start != before.start || (before.held && !after.held)))
    add(touches, touch(Thing::workers, How::looks));
  auto const ends = before.round != RoundNumber{} && before.round != after.round;
  auto const pauses =
      after.start == before.start &&
      (after.held > before.held || after.failed != before.failed || after.killed != before.killed ||
       after.finished != before.finished || after.will_stick != before.will_stick);
  if (ends || pauses || after.excused_until != before.excused_until)
    add(touches, touch(Thing::workers, How::adds));
}

void add_of_evidence(std::vector<Touch>& touches, Evidence const& evidence) {
  auto const add_if = [&](bool what, Thing thing, How how) {
    if (what) add(touches, touch(thing, how));
  };
  for (auto const& step : evidence.members)
    add_if(step.before.who != step.after.who, Thing::records, How::changes);
  auto const starts = !evidence.starts.empty();
  auto const commits = !evidence.commits.empty();
  auto const outcome = std::any_of(evidence.commits.begin(), evidence.commits.end(),
                                   [](auto const& commit) { return commit.record.outcome; });
  add_if(starts, Thing::workers, How::looks);
  add_if(starts || !evidence.ends.empty(), Thing::records, How::looks);
  add_if(starts, Thing::stores, How::looks);
  add_if(!evidence.stores.empty(), Thing::stores, How::changes);
  add_if(!evidence.stores.empty(), Thing::workers, How::looks);
  add_if(commits, Thing::records, How::changes);
  add_if(outcome, Thing::workers, How::changes);
  add_if(starts || commits || !evidence.counted_out.empty() || !evidence.proven.empty(),
         Thing::holders, How::looks);
  add_if(evidence.probes, Thing::links, How::looks);
}

}  // namespace

void add_touches(std::vector<Touch>& touches, Sight const& before, World const& world) {
  auto const after = Sight::of(world);
  if (before.judges_progress) return add(touches, kEverything);
  for (std::size_t i = 0; i < after.agents.size(); ++i)
    if (i < before.agents.size())
      add_of_agent(touches, before.agents[i], after.agents[i]);
    else
      add(touches, touch(Thing::life, How::changes, after.agents[i].node));
  if (after.known != before.known) add(touches, touch(Thing::holders, How::adds));
  add_of_evidence(touches, world.evidence());
  if (!world.evidence().probes) return;
  for (NodeIndex node = 0; node < world.nodes.size(); ++node)
    add(touches, touch(Thing::life, How::looks, node));
}

}  // namespace muster::sim
