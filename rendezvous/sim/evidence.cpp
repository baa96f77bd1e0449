// SPDX-License-Identifier: Apache-2.0
// What is written down of an event for the invariants to judge.

#include "rendezvous/sim/invariants.hpp"

#include <algorithm>

namespace muster::sim {

using namespace membership;

namespace {

// A member goes of itself, by its own word, or because its successor on the same node has come;
// who comes to a reign is asked in anew when that is another one. All others went for their
// silence.
bool went_for_silence(HostMarks::Place const& place, HostEvent const& event) {
  auto const* received = std::get_if<Received>(&event);
  if (!received) return true;
  if (std::holds_alternative<Join>(received->message)) return false;
  return received->header.incarnation != place.node;
}

}  // namespace

MemberMarks MemberMarks::of(MemberState const& member) {
  MemberMarks marks;
  marks.who = member.facts.incarnation;
  marks.generation = member.generation;
  marks.epoch = member.epoch;
  marks.promised = member.voter.promised;
  if (member.voter.prepared) marks.prepared = mark_of(member.voter.prepared->record);
  if (member.voter.committed) marks.committed = mark_of(*member.voter.committed);
  return marks;
}

HostMarks HostMarks::of(Host const& host) {
  HostMarks marks;
  marks.phase = host.phase;
  marks.epoch = host.epoch;
  if (host.committed) marks.committed = mark_of(*host.committed);
  for (auto const& [id, member] : host.members)
    marks.members.push_back(
        {id, std::max(member.dead_sent, member.dead_held), member.here && !member.leaving});
  marks.proven_dead = host.proven_dead.size();
  if (host.proposal) marks.prepared = host.proposal->prepared.size();
  return marks;
}

void Evidence::clear() {
  members.clear();
  commits.clear();
  counted_out.clear();
  proven.clear();
  starts.clear();
  votes.clear();
  stores.clear();
  words.clear();
  failures.clear();
  ends.clear();
}

void Evidence::note_vote(Header const& voter, VoteReply const& reply, Incarnation candidate) {
  if (reply.granted && !reply.trial)
    votes.push_back({voter.generation, reply.epoch, voter.incarnation, candidate});
}

void Evidence::note_host(Process const& process, HostMarks const& before, HostEvent const& event) {
  auto const& host = process.hosting->host;
  if (host.committed && mark_of(*host.committed) != before.committed &&
      host.committed->host == host.self && host.committed->epoch == host.epoch)
    commits.push_back({process.id, host.self, *host.committed, host.table, host.proven_dead});
  if (host.proven_dead.size() != before.proven_dead)
    for (auto const node : host.proven_dead) proven.push_back({process.id, node});
  if (host.epoch != before.epoch || host.members.size() >= before.members.size()) return;
  for (auto const& place : before.members) {
    if (!place.counts || host.members.contains(place.node)) continue;
    if (!went_for_silence(place, event)) continue;
    if (host.proven_dead.contains(place.node)) continue;
    auto const heard = process.hosting->heard.find(place.node);
    if (heard != process.hosting->heard.end())
      counted_out.push_back({process.id, place.node, heard->second, place.dead});
  }
}

}  // namespace muster::sim
