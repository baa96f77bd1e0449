// SPDX-License-Identifier: Apache-2.0
// Succession: how a host takes over a world that began under another one, and how it ends its own
// reign.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/quorum.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {
namespace {

// Members that find the new host need a moment for it even where nothing else is waited for.
constexpr Duration kTimeToReturn = std::chrono::seconds{2};
// Spares that asked are told by their voters at once. Without them a place that is free would cost
// the workers two rounds, one to go on without its node and one to give it to the spare.
constexpr Duration kSpareComes = std::chrono::milliseconds{500};

Member from_record(Seat const& seat, TimePoint heard) {
  Member member;
  member.facts.incarnation = seat.node;
  member.facts.host = seat.host;
  member.facts.address = seat.address;
  member.facts.control_port = seat.port;
  member.heard = heard;
  member.connected = member.here = false;
  member.seated = true;
  return member;
}

// `absent`: what holds for those of whom nobody has heard.
void put_voters(Host& host, Mandate const& mandate, TimePoint now, Ghost const& absent) {
  for (auto const& seat : mandate.record.record.voters) {
    auto const vouched = mandate.vouched.find(seat.node);
    auto heard = absent.heard;
    if (vouched != mandate.vouched.end()) heard = std::max(heard, now - vouched->second);
    if (mandate.granted.contains(seat.node)) host.confirmed[seat.node] = heard = now;
    auto member = from_record(seat, heard);
    member.dead_sent = member.dead_held = absent.dead;
    host.members.put(seat.node, std::move(member));
  }
}

// Whether any round that the host before may have had could not go on without one of its nodes. Of
// one that these voters do not know to be committed they know who voted: all of its nodes, if few.
bool was_at_min(Mandate const& mandate, JobSettings const& settings) {
  auto const& [found, bases] = mandate.record;
  auto const at_min = [&](std::size_t nodes) { return nodes <= settings.min_nodes; };
  if (at_min(found.nodes) || (mandate.committed && at_min(mandate.committed->nodes))) return true;
  return std::any_of(bases.begin(), bases.end(), [&](Electorate const& base) {
    auto const known = mandate.committed && base == electorate_of(*mandate.committed);
    return !known && at_min(base.voters.size());
  });
}

}  // namespace

Host make_successor(NewHost const& who, Mandate const& mandate, TimePoint now,
                    JobSettings const& settings) {
  auto const& found = mandate.record.record;
  Host host;
  host.run_id = who.run_id;
  host.name = who.name;
  host.self = who.self;
  host.generation = found.generation;
  host.epoch = who.epoch;
  host.phase = Phase::resuming;
  host.committed = mandate.committed;
  host.proven_dead = mandate.gone;
  if (!mandate.gone.empty()) host.last_proof = now;
  host.used = found.used;
  host.highest = found.round;
  if (!found.outcome) host.workers_round = found.round;
  host.started = now;
  host.next_scan = now;

  Proposal proposal;
  proposal.record = found;
  proposal.record.epoch = who.epoch;
  proposal.record.host = who.self;
  proposal.bases = mandate.record.bases;
  proposal.bases.push_back(electorate_of(found));
  proposal.store_asked = proposal.store_open = true;

  // What may have been promised to those who have not called yet: that they count until then.
  auto const dead = was_at_min(mandate, settings) ? settings.dead_at_min : settings.dead;
  auto const unheard = now - std::min(mandate.host_age, dead);
  put_voters(host, mandate, now, {unheard, dead});
  // Nor did those wait in vain who have no place in it, and asked the voters that we ask.
  for (auto const& [node, age] : mandate.vouched)
    if (!host.members.contains(node) && !mandate.gone.contains(node))
      host.ghosts[node] = {now - age, dead};
  auto const voters = static_cast<std::uint32_t>(found.voters.size());
  host.expected_back = found.nodes > voters ? found.nodes - voters : 0;
  host.back_until = unheard + dead + kTimeToReturn;
  host.absent = {unheard, dead};
  for (auto const node : who.spares)
    if (!host.members.contains(node) && !mandate.gone.contains(node)) host.spares.insert(node);
  if (!host.spares.empty()) host.spares_until = now + kSpareComes;
  host.proposal = std::move(proposal);
  return host;
}

// A host that was started anew hears from members of a world that it does not know. It asks them
// for its reign: they give their vote if they miss the host before.
void HostTurn::inquire(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  auto const above = event.header.epoch.next();
  if (!host_.inquiry) host_.inquiry = Inquiry{above, {}, {}};
  if (host_.inquiry->epoch < above) *host_.inquiry = {above, {}, {}};
  host_.phase = Phase::inquiring;
  host_.generation = std::max(host_.generation, event.header.generation);
  auto member = caller(event, request.facts);
  member.status = request.status;
  member.row = request.row;
  host_.members.put(from, std::move(member));
  if (host_.next_scan == TimePoint::max()) host_.next_scan = now_;
  ask_for_vote(from);
}

// Voters have promised themselves to a later reign that never came: ours must be later still.
void HostTurn::renew_reign(Epoch above) {
  if (!settings_.succession || host_.phase == Phase::over) return;
  if (host_.inquiry && host_.inquiry->epoch > above) return;
  host_.inquiry = Inquiry{above.next(), {}, {}};
  for (auto const& [id, member] : host_.members)
    if (member.here) ask_for_vote(id);
}

void HostTurn::ask_for_vote(Incarnation node) {
  host_.inquiry->asked.insert(node);
  send(node, VoteRequest{host_.inquiry->epoch, true, false});
}

bool HostTurn::has_voted(Incarnation node) const {
  auto const vote = host_.inquiry->votes.find(node);
  return vote != host_.inquiry->votes.end() && vote->second.granted;
}

void HostTurn::vote(Incarnation from, VoteReply const& reply) {
  if (!host_.inquiry || reply.trial || reply.epoch != host_.inquiry->epoch) return;
  if (!has_voted(from)) host_.inquiry->votes[from] = reply;
  auto const mandate = mandate_of(host_.inquiry->votes, host_.committed);
  if (mandate) return take_mandate(*mandate);
  // Asked twice, it refuses the second time what it has given.
  if (has_voted(from) || reply.promised < host_.inquiry->epoch) return;
  renew_reign(reply.promised);
}

// Whoever is here already is asked in again, as a member of the record that was found.
void HostTurn::take_mandate(Mandate const& mandate) {
  auto const epoch = host_.inquiry->epoch;
  auto const callers = std::move(host_.members);
  auto const arrivals = host_.arrivals;
  auto const was_ending = host_.ending;
  auto const table = std::move(host_.table);
  auto const round = host_.workers_round;
  // A newborn host knows the row that was told it with JOIN; who has reigned since, its own table.
  auto const row_of_caller = [&](Incarnation id, Member const& caller) {
    if (table.empty()) return caller.row;
    auto const found = std::find_if(table.begin(), table.end(),
                                    [id](TableRow const& row) { return row.node == id; });
    auto const is_current = caller.status.committed == round && found != table.end();
    return is_current ? std::optional(*found) : std::nullopt;
  };
  NewHost const who{host_.run_id, host_.name, host_.self, epoch, host_.spares};
  host_ = make_successor(who, mandate, now_, settings_);
  host_.arrivals = arrivals;
  if (was_ending && !host_.proposal->record.outcome) host_.ending = was_ending;
  for (auto const& [id, caller] : callers) {
    if (!caller.here) continue;  // known from a record only
    Received again;
    again.header.incarnation = id;
    again.header.generation = host_.generation;
    again.seen_from = caller.seen_from;
    again.reached_at = caller.reached_at;
    join(again, {caller.facts, settings_, caller.status, "", row_of_caller(id, caller), {}});
  }
}

// The record that was found is committed again; only then is anybody counted out.
bool HostTurn::try_resume() {
  if (!votes_suffice()) return false;
  auto const lost_ones = host_.proven_dead;
  auto const unfinished = host_.ending;
  host_.committed = std::move(host_.proposal->record);
  host_.proposal.reset();
  host_.inquiry.reset();
  host_.next_scan = now_;
  if (host_.committed->outcome) {
    host_.ending = Ending{*host_.committed->outcome, false, TimePoint::max()};
    host_.phase = Phase::telling;
    host_.ending->until = now_ + settings_.outcome_patience;
    for (auto const& [id, member] : host_.members) {
      host_.to_acknowledge.insert(id);
      if (member.here) tell(id);
    }
    return true;
  }
  host_.phase = Phase::running;
  for (auto const& [id, member] : host_.members)
    if (member.seated && member.status.done != host_.workers_round) host_.to_finish.insert(id);
  host_.ending.reset();
  count_out_voters();
  if (unfinished) {
    end(unfinished->outcome);
    return true;
  }
  for (auto const& row : Table(host_.table)) send_commit(row);
  tell_spares();
  for (auto const id : lost_ones) lost(id, "its agent is gone and its workers are dead");
  // row_of finds at once what it finds where it was put.
  for (std::size_t rank = 0; rank < host_.table.size(); ++rank)
    if (auto const found = host_.members.find(host_.table[rank].node); found != host_.members.end())
      found->second.place = rank;
  for (auto const& [id, member] : host_.members) {
    if (host_.phase != Phase::running) break;
    check_resumed(id, member);
  }
  return true;
}

// A round that some had not begun when its host went is begun anew, since nobody left knows who had
// which rank.
void HostTurn::check_resumed(Incarnation node, Member const& member) {
  if (!member.here || !member.seated) return;
  auto const& status = member.status;
  auto const begun = row_of(node) && status.committed >= host_.workers_round;
  // The host before had told it to stop already: nobody would wait for anything but its end.
  auto const stopped = status.stopped >= host_.workers_round && status.done != host_.workers_round;
  if (begun && !stopped) return;
  change_round(Reason::succession, "the host before was lost while a round was being formed");
}

void HostTurn::overruled(HostIs const& by) {
  if (host_.phase == Phase::over || by.host.node == host_.self) return;
  auto const newborn = !host_.committed && host_.phase == Phase::gathering;
  if (newborn || host_.phase == Phase::inquiring) {
    // Of two that were born for the same job the one born first stays.
    auto const older =
        std::pair(by.generation, by.host.node) < std::pair(host_.generation, host_.self);
    if (by.host.node != Incarnation{} && (by.committed || (newborn && older))) yield_to(by);
    return;
  }
  if (by.generation != host_.generation || by.epoch <= host_.epoch) return;
  if (by.host.node != Incarnation{} || host_.phase == Phase::resuming) return yield_to(by);
  // A promise to the reign that we ask for may be one to us: the vote itself will tell.
  if (host_.inquiry && host_.inquiry->epoch >= by.epoch) return;
  renew_reign(by.epoch);
}

void HostTurn::yield_to(HostIs const& by) {
  for (auto const& [id, member] : host_.members)
    if (member.here) send(id, by);
  host_.phase = Phase::over;
  host_.change_why = by.host.host.empty() ? "it was overruled" : "on host " + by.host.host;
  successor_ = by;
  finished_ = true;
}

// This host's own node has left the job: it goes once the others hold the record without it, for
// until then its vote may be needed.
bool HostTurn::try_hand_over() {
  if (host_.hand_over_until == TimePoint::max()) return false;
  auto const all_have_it =
      std::all_of(host_.members.begin(), host_.members.end(), [this](auto const& entry) {
        auto const& member = entry.second;
        return !member.seated || (member.status.committed == host_.committed->round &&
                                  member.status.committed_in == host_.committed->epoch);
      });
  if (!all_have_it && now_ < host_.hand_over_until) return false;
  resign();
  return true;
}

// Of our own will: the voters elect at once.
void HostTurn::resign() {
  if (host_.phase == Phase::over) return;
  if (host_.phase == Phase::telling || host_.phase == Phase::concluding) return;
  for (auto const& [id, member] : host_.members) {
    if (!member.here) continue;
    auto const own = id == host_.self && member.leaving;
    if (own) send(id, Outcome{false, exit_code_of(Errc::canceled), "this node left the job", {}});
    send(id, Resigned{});
  }
  host_.change_why = "host " + host_.name + " has handed it over";
  host_.phase = Phase::over;
  finished_ = true;
}

}  // namespace muster::membership
