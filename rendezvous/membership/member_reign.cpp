// SPDX-License-Identifier: Apache-2.0
// Votes, candidacy, and finding the host that reigns now.

#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/member_turn.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>

namespace muster::membership {

using namespace member;

namespace {

constexpr Duration kVoteTime = std::chrono::seconds{1};
constexpr Duration kAskAgainSoon = std::chrono::milliseconds{50};
// Somebody who was called as the host and does not welcome us is not called again sooner.
constexpr Duration kCallAgain = std::chrono::seconds{1};

}  // namespace

// Which candidate this voter is: the host that is missed does not count.
std::optional<std::size_t> MemberTurn::place_in_line() const {
  if (!state_.voter.prepared) return std::nullopt;
  std::size_t place = 0;
  for (auto const& seat : state_.voter.prepared->record.voters) {
    if (seat.node == state_.facts.incarnation) return place;
    if (seat.node != state_.host && !state_.voter.gone.contains(seat.node)) ++place;
  }
  return std::nullopt;
}

HostSilence MemberTurn::silence(Incarnation candidate) const {
  HostSilence silence;
  silence.age = state_.host_heard == TimePoint::max() ? Duration::zero() : host_age();
  silence.connected = state_.with_host;
  silence.gone = state_.host_left;
  silence.patience = fence_of(state_.dead == Duration::zero() ? state_.job.dead : state_.dead);
  silence.asks_itself = candidate == state_.host && state_.with_host;
  return silence;
}

// Whoever has just been voted for is given the time to become host.
VoteReply MemberTurn::give_vote(Header const& candidate, VoteRequest const& request) {
  auto how = silence(candidate.incarnation);
  auto const of_older_job = candidate.generation < state_.voter.generation;
  auto const just_voted = state_.voted_at != TimePoint::min() && now_ < state_.voted_at + kVoteTime;
  if (of_older_job || just_voted)
    how = HostSilence{Duration::zero(), true, how.patience, false, false};
  auto reply = answer_vote(state_.voter, request, how, now_);
  if (state_.host_heard != TimePoint::max()) reply.host_age_ns = host_age().count();
  if (!reply.granted || request.trial) return reply;
  state_.voted_at = now_;
  state_.stand_at = now_ + state_.dead;
  keep_last_word();  // before anybody can count on the vote
  return reply;
}

// The host is silent: other voters are asked for our lease, and for their votes when it is time.
void MemberTurn::miss_host() {
  ask_voters();
  if (state_.phase != MemberPhase::taking_part) {
    // No voter vouches for a node that has had no place yet: it looks for a host anew, too.
    auto const quiet_since = std::max(state_.host_heard, state_.called);
    if (now_ < quiet_since + state_.dead) return;
    state_.join_until = std::min(state_.join_until, now_ + state_.job.join_timeout);
    return call_host({});
  }
  auto const place = place_in_line();
  if (!place || state_.evicted || state_.leaving) return;
  auto const step = static_cast<int>(*place) * kCandidateStep;
  if (state_.stand_at == TimePoint::max()) state_.stand_at = state_.host_heard + state_.dead + step;
  if (state_.candidacy && now_ >= state_.candidacy->until) {
    state_.candidacy.reset();
    state_.stand_at = now_ + step;
  }
  if (!state_.candidacy && now_ >= state_.stand_at) stand();
}

// A proof, or the host's own word, that it is not there any more: no need to wait.
void MemberTurn::host_gone() {
  state_.host_left = true;
  state_.with_host = false;
  auto const place = place_in_line();
  if (!place || !state_.job.succession || state_.phase != MemberPhase::taking_part) return;
  state_.stand_at = now_ + static_cast<int>(*place) * kCandidateStep;
  state_.next_ask = now_;
}

void MemberTurn::stand() {
  auto const& voter = state_.voter;
  auto const epoch = std::max({state_.epoch, voter.promised, voter.voted}).next();
  state_.candidacy = Candidacy{epoch, true, now_ + kVoteTime, {}, {}};
  ask_for_votes();
}

void MemberTurn::ask_for_votes() {
  auto& candidacy = *state_.candidacy;
  VoteRequest const request{candidacy.epoch, false, candidacy.trial};
  auto const self = state_.facts.incarnation;
  if (candidacy.asked.insert(self).second)
    candidacy.votes[self] = give_vote(header_of(state_), request);
  for (auto const& seat : seats_to_ask(candidacy.votes, state_.voter.prepared))
    if (candidacy.asked.insert(seat.node).second) effects_.push_back(CallSeat{seat, request});
  count_votes();
}

void MemberTurn::vote_came(Incarnation from, VoteReply const& reply) {
  if (!state_.candidacy) return;
  auto& candidacy = *state_.candidacy;
  if (reply.epoch != candidacy.epoch || reply.trial != candidacy.trial) return;
  candidacy.votes[from] = reply;
  if (reply.promised >= candidacy.epoch && !reply.granted) {
    // A later reign was promised already: the next try must go beyond it.
    state_.voter.promised = std::max(state_.voter.promised, reply.promised);
  }
  // Of a proven death the others hear in a moment, too.
  if (state_.host_left && reply.trial && !reply.granted)
    candidacy.until = std::min(candidacy.until, now_ + kAskAgainSoon);
  ask_for_votes();
}

void MemberTurn::count_votes() {
  auto& candidacy = *state_.candidacy;
  auto const mandate = mandate_of(candidacy.votes);
  if (!mandate) return;
  auto const& seats = mandate->record.record.voters;
  auto const has_seat = std::any_of(seats.begin(), seats.end(), [this](Seat const& seat) {
    return seat.node == state_.facts.incarnation;
  });
  if (!has_seat) return;  // it was counted out of the newest record
  if (candidacy.trial) {
    candidacy.trial = false;
    candidacy.votes.clear();
    candidacy.asked.clear();
    candidacy.until = now_ + kVoteTime;
    return ask_for_votes();
  }
  NewHost const who{state_.run_id, state_.facts.host, state_.facts.incarnation, candidacy.epoch,
                    spares_that_asked()};
  auto host = make_successor(who, *mandate, now_, state_.job);
  state_.candidacy.reset();
  state_.stand_at = TimePoint::max();
  state_.with_host = false;
  state_.host_heard = now_;
  state_.called = now_;
  state_.calling = state_.facts.incarnation;
  tell("this node takes over the rendezvous from host " + state_.host_seat.host);
  announce_reign(host);
  effects_.push_back(BecomeHost{std::move(host)});
}

// The others would find the new host by timers of their own; the lines by which they were asked for
// their votes are open.
void MemberTurn::announce_reign(Host const& host) {
  auto const& voters = host.proposal->record.voters;
  auto const self = state_.facts.incarnation;
  auto const own = std::find_if(voters.begin(), voters.end(),
                                [self](Seat const& seat) { return seat.node == self; });
  HostIs const news{host.generation, host.epoch, *own, true};
  for (auto const& seat : voters)
    if (seat.node != self) effects_.push_back(CallSeat{seat, news});
  tell_askers(news);
}

// Those that miss the host and have no vote are told by the voters that they ask.
void MemberTurn::tell_askers(HostIs const& news) {
  auto nodes = spares_that_asked();
  for (auto const& [node, at] : state_.voter.vouched)
    if (now_ - at <= state_.job.lease_every) nodes.insert(node);
  for (auto const node : nodes) effects_.push_back(Reply{node, news});
}

void MemberTurn::forget_old_spares() {
  std::erase_if(state_.spares, [limit = now_ - spares_count_for()](auto const& entry) {
    return entry.second < limit;
  });
}

std::set<Incarnation> MemberTurn::spares_that_asked() const {
  std::set<Incarnation> nodes;
  for (auto const& [node, at] : state_.spares)
    if (at >= now_ - spares_count_for()) nodes.insert(node);
  return nodes;
}

// News of who hosts. Only a later reign counts, or the present one while we miss it.
void MemberTurn::host_is(HostIs const& message) {
  auto const& seat = message.host;
  if (seat.node == Incarnation{} || seat.node == state_.facts.incarnation) return;
  auto const same_job = message.generation == state_.generation;
  auto const later = same_job && message.epoch > state_.epoch;
  auto const missed = same_job && message.epoch == state_.epoch && !state_.with_host;
  auto const unplaced = !state_.voter.committed && (!state_.welcome || message.committed);
  if (!later && !missed && !unplaced) return;
  // One that renewed its reign while it could not be heard counts nobody who has not joined it.
  auto const renewed = later && misses_host();
  if (state_.with_host && seat.node == state_.host && !renewed) return;
  if (state_.calling == seat.node && now_ - state_.called < kCallAgain) return;
  if (state_.host == state_.facts.incarnation) effects_.push_back(StepDown{message});
  if (!same_job) forget_host();
  call_host(seat);
}

// It began a world that came to nothing, and another one lives: what it said binds nobody.
void MemberTurn::forget_host() {
  state_.welcome = false;
  state_.generation = {};
  state_.epoch = {};
  state_.voter = {};
  state_.waiting.reset();
  state_.acked = state_.host_heard = state_.hostless_until = TimePoint::max();
  state_.acked_stamp = -1;
  state_.join_until = now_ + state_.job.join_timeout;
}

void MemberTurn::call_host(Seat const& seat) {
  state_.with_host = state_.connected = false;
  state_.calling = seat.node;
  state_.called = now_;
  state_.host_seat = seat;
  state_.candidacy.reset();
  effects_.push_back(CallHost{seat});
}

// Somebody misses the host. If we do not, it is told where the host is; its lease is the host's
// business then.
void MemberTurn::asked_by_peer(Header const& header, Ask const& ask) {
  auto const to = header.incarnation;
  if (state_.outcome && header.generation == state_.generation)
    return effects_.push_back(Reply{to, *state_.outcome});
  auto const has_no_place = header.round == RoundNumber{};
  if (has_no_place && header.generation == state_.generation) state_.spares[to] = now_;
  auto miss = silence(to);
  miss.patience = std::max<Duration>(2 * lease_every(), std::chrono::milliseconds{500});
  effects_.push_back(Reply{to, answer_ask(state_.voter, header, ask, miss, now_)});
  if (state_.with_host && !misses_host()) effects_.push_back(Reply{to, present_host()});
}

HostIs MemberTurn::present_host() const {
  return {state_.generation, state_.epoch, state_.host_seat, state_.voter.committed.has_value()};
}

void MemberTurn::last_word(Header const& header, LastWord const& word) {
  if (header.generation != state_.generation) return;
  // Who had prepared a newer record than we know of may have decided more with others: a later
  // round, or the same one under a later host.
  auto const known = status_of(state_);
  if (header.round > known.prepared || header.epoch > known.prepared_in) return;
  state_.voter.gone.insert(word.node);
  if (word.node == state_.host) host_gone();
}

}  // namespace muster::membership
