// SPDX-License-Identifier: Apache-2.0
// What the shared state, as just read, asks of this agent: at most one write, or another look.

#include "rendezvous/torchrun/peer_turn.hpp"

#include <algorithm>

namespace muster::torchrun {
namespace {

using namespace peer;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLookWhileWorking = seconds{1};  // as torchrun
constexpr Duration kLookWhileJoining = milliseconds{100};
// Everybody reads the whole state at every look: a large fleet looks less often.
constexpr Duration kLookMorePerNode = milliseconds{2};
// Between leaving one round and waiting for the next an agent is nowhere, for one write.
constexpr Duration kGap = seconds{3};
// torchrun's agents look once a second whether they may join.
constexpr Duration kHoldBack = seconds{3};

}  // namespace

void PeerTurn::consider() {
  switch (peer_.phase) {
    case PeerPhase::joining:
      return consider_joining();
    case PeerPhase::agreeing:
    case PeerPhase::running:
    case PeerPhase::done:
      return consider_working();
    case PeerPhase::stopping:
      return keep_alive();
    case PeerPhase::parting:
      return consider_parting();
    case PeerPhase::over:
      return;
  }
}

// Joining.

void PeerTurn::consider_joining() {
  auto& shared = peer_.shared;
  if (shared.closed) {
    if (is_spare(shared, peer_.self))
      return part({false, true, 0, "the job ended without this spare", {}, std::nullopt});
    if (peer_.seat) return end_by_others();
    Error over{Errc::refused, "run " + peer_.run_id + " at " + peer_.endpoint + " is closed",
               "start it again under another --rdzv-id, or restart the program at the endpoint"};
    return part({false, false, 0, "", {}, std::move(over)});
  }
  drop_dead(shared);
  if (peer_.leaves_first && takes_part(shared, peer_.self)) {
    remove_node(shared, peer_.self, peer_.settings.nodes);
    return write(shared);
  }
  peer_.leaves_first = false;
  if (is_spare(shared, peer_.self)) return consider_spare(shared);
  if (shared.complete) return consider_complete_round(shared);
  consider_open_round(shared);
}

// As torchrun's _sanitize; visible to others with our next write.
void PeerTurn::drop_dead(RoundState& state) {
  std::vector<NodeDesc> dead;
  for (auto const& [node, beat] : state.last_heartbeats)
    if (node != peer_.self && peer_.watch.silence(node, now_) >= peer_.settings.dead())
      dead.push_back(node);
  for (auto const& node : dead) {
    remove_node(state, node, peer_.settings.nodes);
    peer_.lost.insert(node);
  }
}

void PeerTurn::consider_spare(RoundState next) {
  if (next.participants.size() >= peer_.settings.nodes.max_nodes) {
    peer_.join_until = TimePoint::max();  // a spare waits as long as the job lasts
    return keep_alive();
  }
  peer_.join_until = now_ + peer_.settings.join_timeout;
  next.redundancy_list->erase(peer_.self);
  if (next.complete) return consider_complete_round(std::move(next));
  consider_open_round(std::move(next));
}

void PeerTurn::consider_complete_round(RoundState next) {
  if (takes_part(next, peer_.self)) return take_seat();
  if (waits(next, peer_.self)) return keep_alive();
  if (next.participants.size() < peer_.settings.nodes.max_nodes)
    add_waiting(next, peer_.self);
  else if (next.redundancy_list)
    add_spare(next, peer_.self);
  else
    return keep_alive();  // before 2.3 there are no spares: the next round is waited for unseen
  write(std::move(next));
}

void PeerTurn::consider_open_round(RoundState next) {
  auto const& nodes = peer_.settings.nodes;
  if (!takes_part(next, peer_.self)) {
    if (holds_back(next)) return look_again(kLookWhileJoining);
    add_participant(next, peer_.self, stamp(peer_.settings.last_call), nodes);
    if (next.participants.size() == nodes.max_nodes) complete_round(next, first_of_round(next));
    return write(std::move(next));
  }
  auto const count = next.participants.size();
  auto const enough = count >= nodes.min_nodes && count <= nodes.max_nodes;
  if (enough && (now_ >= peer_.deadline_due || everybody_is_here())) {
    complete_round(next, first_of_round(next));
    return write(std::move(next));
  }
  say_who_is_here();
  keep_alive();
}

// After a round that ended: all of its members are back, but for those known to be lost. torchrun
// would wait its whole last_call for others.
bool PeerTurn::everybody_is_here() const {
  auto const& shared = peer_.shared;
  return !peer_.expected.empty() && shared.wait_list.empty() &&
         std::all_of(peer_.expected.begin(), peer_.expected.end(), [&](auto const& node) {
           return takes_part(shared, node) || peer_.lost.contains(node);
         });
}

// torchrun's agents never ask again where the workers' store is. Its owner, made rank 0, goes on
// giving the place that they know. If it is gone, one of them is made rank 0, which opens a new
// one.
std::optional<NodeDesc> PeerTurn::first_of_round(RoundState const& state) const {
  if (!peer_.store_owner || takes_part(state, *peer_.store_owner)) return peer_.store_owner;
  for (auto const& [node, rank] : state.participants) {
    auto const was_there =
        std::find(peer_.expected.begin(), peer_.expected.end(), node) != peer_.expected.end();
    if (was_there && node.local_id != kMusterId) return node;
  }
  return std::nullopt;
}

// A torchrun agent that completes the round makes rank 0 whoever comes first in the order of nodes,
// and a newcomer there opens a store of its own, while the agents that were there before keep the
// address of the old one (W3). So where that threatens, one muster agent comes in last, and
// completes the round itself.
bool PeerTurn::holds_back(RoundState const& open) {
  auto const& owner = peer_.store_owner;
  if (!owner || peer_.lost.contains(*owner) || now_ >= peer_.held_until) return false;
  auto everybody = peer_.newcomers;
  everybody.insert(open.wait_list.begin(), open.wait_list.end());
  for (auto const& [node, rank] : open.participants) everybody.insert(node);
  NodeDesc last_of_muster;
  bool some_remember = false;
  for (auto const& node : peer_.expected) {
    if (peer_.lost.contains(node)) continue;
    everybody.insert(node);
    if (node.local_id == kMusterId) last_of_muster = std::max(last_of_muster, node);
    some_remember = some_remember || node.local_id != kMusterId;
  }
  auto const& first = *everybody.begin();
  auto const opens_another = first != *owner && first.local_id != kMusterId;
  if (!opens_another || !some_remember || last_of_muster != peer_.self) return false;
  everybody.erase(peer_.self);
  auto const all_in = std::all_of(everybody.begin(), everybody.end(),
                                  [&](auto const& node) { return takes_part(open, node); });
  if (all_in || open.participants.size() + 1 >= peer_.settings.nodes.max_nodes) return false;
  if (peer_.held_until == TimePoint::max())
    peer_.held_until = now_ + std::min<Duration>(kHoldBack, peer_.settings.last_call / 2);
  return now_ < peer_.held_until;
}

void PeerTurn::take_seat() {
  auto members = members_by_rank(peer_.shared);
  if (!members) {
    Error wrong{Errc::corrupt, "torchrun's round state: the ranks are not 0, 1, 2, ...", {}};
    return part({false, false, 0, "", {}, std::move(wrong)});
  }
  auto const& nodes = peer_.settings.nodes;
  if (members->size() < nodes.min_nodes || members->size() > nodes.max_nodes) {
    std::string who;
    for (auto const& member : *members) who += (who.empty() ? "" : ", ") + member.addr;
    Error odd{Errc::refused,
              "a round of " + std::to_string(members->size()) +
                  (members->size() == 1 ? " node" : " nodes") + " was formed (" + who +
                  "), but host " + peer_.self.addr + " was given --nnodes=" +
                  std::to_string(nodes.min_nodes) + ":" + std::to_string(nodes.max_nodes),
              "give the same --nnodes on every node"};
    return part({false, false, 0, "", {}, std::move(odd)});
  }
  Seat seat{peer_.shared.round, 0, *std::move(members)};
  auto const found = std::find(seat.members.begin(), seat.members.end(), peer_.self);
  seat.rank = static_cast<std::uint32_t>(found - seat.members.begin());
  peer_.seat = std::move(seat);
  peer_.phase = PeerPhase::agreeing;
  peer_.join_until = TimePoint::max();
  peer_.lost.clear();
  peer_.newcomers.clear();
  peer_.held_until = TimePoint::max();
  peer_.told.clear();
  effects_.push_back(Agree{*peer_.seat});
  keep_alive();
}

void PeerTurn::say_who_is_here() {
  auto const& shared = peer_.shared;
  std::string text = "waiting for nodes: " + std::to_string(shared.participants.size()) +
                     " of at least " + std::to_string(peer_.settings.nodes.min_nodes) + " are here";
  if (text == peer_.told) return;
  peer_.told = text;
  effects_.push_back(Say{std::move(text)});
}

// In a round.

void PeerTurn::consider_working() {
  auto const& shared = peer_.shared;
  auto const moved = shared.round != peer_.seat->round || !shared.complete;
  if (peer_.phase == PeerPhase::agreeing) {
    if (shared.closed) return end_by_others();
    if (!moved && takes_part(shared, peer_.self)) return keep_alive();
    effects_.push_back(StopAgreeing{});
    return join_anew();
  }
  if (shared.closed) {
    // By one who failed, or by one who was done: the exit barrier tells.
    watch_members();
    effects_.push_back(Count{peer_.seat->round});
    return keep_alive();
  }
  if (moved) return stop_workers("the other agents have begun a new round");
  peer_.newcomers = shared.wait_list;
  if (follow_waiting()) return;
  if (!takes_part(shared, peer_.self)) {
    if (shared.participants.size() >= peer_.settings.nodes.max_nodes)
      return stop_workers("this host was given up, and a spare took its place");
    // Put out by an agent to whose clock our heartbeat seemed old; nothing else has changed yet.
    auto next = shared;
    next.participants[peer_.self] = peer_.seat->rank;
    return write(std::move(next));
  }
  if (watch_members()) effects_.push_back(Count{peer_.seat->round});
  keep_alive();
}

// Somebody waits for a new round: a newcomer, or a member whose workers failed. Who is done comes
// back for a member only.
bool PeerTurn::follow_waiting() {
  for (auto const& node : peer_.shared.wait_list) {
    auto const& members = peer_.seat->members;
    auto const is_member = std::find(members.begin(), members.end(), node) != members.end();
    if (node == peer_.self || (peer_.phase == PeerPhase::done && !is_member)) continue;
    if (peer_.watch.silence(node, now_) >= peer_.settings.dead()) continue;
    stop_workers("host " + node.addr + (is_member ? " starts its workers anew" : " joins the job"));
    return true;
  }
  return false;
}

// torchrun notices no lost node as long as nobody waits for the next round.
bool PeerTurn::watch_members() {
  peer_.suspects.clear();
  for (auto const& member : peer_.seat->members) {
    if (member == peer_.self) continue;
    if (takes_part(peer_.shared, member)) {
      peer_.gone_since.erase(member);
      if (peer_.watch.silence(member, now_) >= peer_.settings.dead())
        peer_.suspects.push_back(member);
    } else if (now_ - peer_.gone_since.try_emplace(member, now_).first->second >= kGap) {
      peer_.suspects.push_back(member);
    }
  }
  return !peer_.suspects.empty();
}

bool PeerTurn::beat_is_due() const {
  return peer_.beat_at == TimePoint::min() || now_ - peer_.beat_at >= peer_.settings.keep_alive;
}

void PeerTurn::keep_alive() {
  auto const& shared = peer_.shared;
  auto const listed =
      takes_part(shared, peer_.self) || waits(shared, peer_.self) || is_spare(shared, peer_.self);
  if (listed && beat_is_due()) return write(shared);
  auto next = now_ + pause_between_looks();
  if (listed) next = std::min(next, peer_.beat_at + peer_.settings.keep_alive);
  if (peer_.phase == PeerPhase::joining && peer_.deadline_due > now_)
    next = std::min(next, peer_.deadline_due);
  look_again(next - now_);
}

Duration PeerTurn::pause_between_looks() const {
  if (peer_.phase != PeerPhase::joining) return kLookWhileWorking;
  auto const nodes = peer_.shared.last_heartbeats.size();
  return std::min<Duration>(kLookWhileJoining + nodes * kLookMorePerNode, kLookWhileWorking);
}

// The last words.

void PeerTurn::consider_parting() {
  auto next = peer_.shared;
  auto const closes = peer_.ending->closes && !next.closed;
  if (!closes && !is_known(next, peer_.self)) return end();
  remove_node(next, peer_.self, peer_.settings.nodes);
  next.closed = next.closed || closes;
  write(std::move(next));
}

}  // namespace muster::torchrun
