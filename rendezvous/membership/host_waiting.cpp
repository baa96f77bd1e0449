// SPDX-License-Identifier: Apache-2.0
// What those who wait are told: who is there, what for, and until when.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"

namespace muster::membership {

// In a small job everybody hears who is there; in a large one a newcomer does, and the others of
// departures, once for all that lie between two looks at the leases: so joining, and the loss of a
// rack, stay a constant number of messages a node.
void HostTurn::say_waiting(std::optional<Incarnation> newcomer) {
  auto const large = host_.members.is_large();
  if (large && newcomer) return send_waiting({*newcomer});
  if (large && settings_.leases) {
    host_.waiting_due = true;
    return;
  }
  send_waiting(everybody_here());
}

std::vector<Incarnation> HostTurn::everybody_here() const {
  std::vector<Incarnation> nodes;
  for (auto const& [id, member] : host_.members)
    if (member.here) nodes.push_back(id);
  return nodes;
}

void HostTurn::send_waiting(std::vector<Incarnation> const& nodes) {
  Waiting note;
  note.have = static_cast<std::uint32_t>(host_.members.eligible());
  note.min_nodes = settings_.min_nodes;
  note.max_nodes = settings_.max_nodes;
  for (auto const& [id, member] : host_.members) {
    if (note.hosts.size() == kNamedHosts) break;
    note.hosts.push_back(member.facts.host);
  }
  for (auto const node : nodes) {
    auto const& member = host_.members.at(node);
    note.text = waiting_text(member);
    note.voters = member.seated || !host_.committed ? Seats{} : host_.committed->voters;
    send(node, note);
  }
}

// Whom they are to ask should this host go: the voters of a new round are others.
void HostTurn::tell_spares() {
  std::vector<Incarnation> spares;
  for (auto const& [id, member] : host_.members)
    if (member.here && !member.seated && !member.leaving) spares.push_back(id);
  send_waiting(spares);
}

std::string HostTurn::waiting_text(Member const& member) const {
  auto const here = " (" + names_here() + ")";
  if (host_.phase == Phase::running)
    return member.seated ? host_.change_why : waiting_beside_a_round();
  if (!host_.committed || host_.phase != Phase::gathering) return explain(why(), now_) + here;
  return explain(why(), now_) + "; then the job ends with exit code " +
         std::to_string(exit_code_of(Errc::below_min)) + " (here: " + names_here() + ")";
}

// What a node without a place in the round that runs waits for.
std::string HostTurn::waiting_beside_a_round() const {
  auto const nodes = counted(host_.committed->nodes, "node");
  auto const is_one = host_.committed->nodes == 1;
  if (host_.committed->nodes >= settings_.max_nodes)
    return "standing by as a spare: " + nodes + (is_one ? " trains" : " train") +
           ", and no more than " + std::to_string(settings_.max_nodes) + " may";
  auto const text = "waiting to join " + nodes + (is_one ? " that trains" : " that train");
  if (host_.to_finish.size() < host_.table.size())
    return text + ": some of them are done, so only a failure or a loss would bring a new round";
  auto const begin = next_scaling();
  if (begin <= now_) return text;
  return text + "; the next round begins in about " + seconds_text(begin - now_);
}

std::string HostTurn::names_here() const {
  std::string names;
  std::size_t count = 0;
  for (auto const& [id, member] : host_.members) {
    if (!member.here) continue;
    if (++count > kNamedHosts) return names + ", ...";
    if (!names.empty()) names += ", ";
    names += member.facts.host;
    if (settings_.given_ranks) names += " (rank " + std::to_string(member.facts.given_rank) + ")";
  }
  return names;
}

}  // namespace muster::membership
