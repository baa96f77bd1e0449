// SPDX-License-Identifier: Apache-2.0
// The rules of rounds: when the next one begins, with whom, and what it costs.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/network_choice.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/rank_order.hpp"

#include <algorithm>

namespace muster::membership {

void HostTurn::advance() {
  while (step()) {
  }
}

// Applies one rule if one applies.
bool HostTurn::step() {
  switch (host_.phase) {
    case Phase::gathering:
      return try_let_go() || try_seal();
    case Phase::resuming:
      return try_resume();
    case Phase::forming:
      return try_open_store() || judge_unreached() || try_commit();
    case Phase::running:
      return try_let_go() || react_to_failure() || try_succeed() || try_hand_over() || try_scale();
    case Phase::ending:
      return try_conclude();
    case Phase::concluding:
      return try_commit_outcome();
    case Phase::telling:
      return try_finish();
    case Phase::inquiring:
    case Phase::over:
      return false;
  }
  return false;
}

// Nodes of the round taken over that have not called this host yet.
bool HostTurn::awaits_return() const {
  return now_ < host_.back_until && (host_.expected_back > 0 || host_.members.absent() > 0);
}

// Spares of the host before, while there is a place for them.
bool HostTurn::awaits_spares(std::size_t count) const {
  return !host_.spares.empty() && now_ < host_.spares_until && count < settings_.max_nodes;
}

// A job that has begun goes on as soon as enough are left; one whose nodes were too few waits again
// for a quiet moment, unless all have come that there were.
bool HostTurn::try_seal() {
  auto const count = host_.members.eligible();
  if (!host_.committed) {
    if (enough_for_first(count)) {
      begin_round(Reason::first_round);
      return true;
    }
    if (now_ >= host_.gathering_until) give_up_gathering();
    return false;
  }
  if (awaits_return() || awaits_spares(count)) return false;
  auto const held = host_.quiet_until != TimePoint::max() && now_ < host_.quiet_until &&
                    count < std::min(host_.committed->nodes, settings_.max_nodes);
  if (count >= settings_.min_nodes && !(host_.held && held)) {
    begin_round(host_.next_round.value_or(Reason::member_joined));
    return true;
  }
  if (!host_.held) {
    host_.held = true;
    host_.gathering_until = now_ + settings_.join_timeout;
    host_.quiet_until = host_.quiet_at_most = TimePoint::max();
    say_waiting(std::nullopt);
  }
  if (now_ >= host_.gathering_until) {
    give_up_holding();
    return true;
  }
  return false;
}

// Where somebody had another host before, a world may be under way that finds this one in a moment:
// its members call again at once.
bool HostTurn::enough_for_first(std::size_t count) const {
  if (count == 0 || count < settings_.min_nodes) return false;
  if (now_ >= host_.quiet_until) return true;
  if (host_.follows) return false;
  if (count >= settings_.max_nodes) return true;
  return settings_.expected > 0 && count >= settings_.expected;
}

void HostTurn::give_up_gathering() {
  auto const have = std::to_string(host_.members.eligible());
  refuse_all({Errc::rendezvous_timeout,
              "run " + host_.run_id + ": " + have + " of " + counted(settings_.min_nodes, "node") +
                  " joined in " + seconds_text(settings_.join_timeout) + ": " + names_here(),
              // Static ranks are all awaited, whatever MIN is.
              settings_.given_ranks
                  ? "start muster on the missing nodes; with --rdzv-backend=static all of --nnodes "
                    "are awaited, with c10d --nnodes=MIN:MAX allows fewer"
                  : "start muster on the missing nodes, or allow fewer with --nnodes=" + have +
                        ":" + std::to_string(settings_.max_nodes)});
}

void HostTurn::give_up_holding() {
  auto const have = std::to_string(host_.members.eligible());
  end({false, exit_code_of(Errc::below_min),
       have + " of at least " + counted(settings_.min_nodes, "node") + " were left for " +
           seconds_text(settings_.join_timeout) + " (" + names_here() + "): " + host_.change_why});
}

void HostTurn::refuse_all(Error const& error) {
  for (auto const& [id, member] : host_.members)
    send(id, Refused{error.code, error.what, error.hint});
  host_.phase = Phase::over;
  finished_ = true;
}

// Workers that only lost a peer: whose? That one's node says so within a lease, leaves, or falls
// silent, and then its loss is the reason, which costs no restart.
bool HostTurn::awaits_cause() const {
  if (!settings_.leases) return false;
  auto since = TimePoint::min();
  for (auto const& note : host_.failures) {
    if (!note.failure.is_consequence) return false;
    since = std::max(since, note.at);
  }
  for (auto const& [id, member] : host_.members) {
    auto const reported = std::any_of(host_.failures.begin(), host_.failures.end(),
                                      [node = id](auto const& note) { return note.node == node; });
    if (member.seated && !reported && member.heard < since + settings_.lease_every) return true;
  }
  return false;
}

// A failure is charged once, however many ranks report it, and the whole world starts again.
bool HostTurn::react_to_failure() {
  if (host_.failures.empty() || awaits_cause()) return false;
  auto const fenced = exit_code_of(Errc::fenced);
  auto const only_fenced =
      std::all_of(host_.failures.begin(), host_.failures.end(),
                  [fenced](auto const& note) { return note.failure.exit_code == fenced; });
  if (only_fenced) {
    change_round(Reason::member_lost, cause_text());
    return true;
  }
  if (host_.used.worker_failures >= settings_.max_restarts) {
    blame_workers();
    return true;
  }
  change_round(Reason::worker_failure, cause_text());
  return true;
}

// Newcomers to a running job bring one round, after a quiet moment and not too often; never more
// than MAX, and not once somebody is done.
bool HostTurn::try_scale() {
  if (host_.members.waiting() == 0 || host_.table.size() >= settings_.max_nodes) return false;
  if (host_.table.size() < host_.committed->nodes) return false;  // the table is not known whole
  if (host_.to_finish.size() < host_.table.size() || now_ < host_.quiet_until) return false;
  if (auto const begin = next_scaling(); now_ < begin) {
    host_.quiet_until = begin;
    return false;
  }
  std::string names;
  std::size_t count = 0;
  for (auto const& [id, member] : host_.members) {
    if (!member.here || member.seated || ++count > kNamedHosts) continue;
    names += (names.empty() ? "" : ", ") + member.facts.host;
  }
  names.insert(0, count == 1 ? "node " : "nodes ");
  if (count > kNamedHosts) names += " and " + std::to_string(count - kNamedHosts) + " more";
  host_.last_scaled = now_;
  change_round(Reason::member_joined, names + " joined");
  return true;
}

// When newcomers may bring a round at the earliest.
TimePoint HostTurn::next_scaling() const {
  if (host_.last_scaled == TimePoint::min()) return host_.quiet_until;
  return std::max(host_.quiet_until, host_.last_scaled + settings_.scale_interval);
}

// The workers of the present round stop, and another round follows with those who are there.
void HostTurn::change_round(Reason reason, std::string why) {
  host_.change_why = std::move(why);
  charge(reason);
  if (host_.used.membership_changes > settings_.most_changes)
    return end({false, exit_code_of(Errc::budget_spent),
                "nodes came and went more than " + std::to_string(settings_.most_changes) +
                    " times; last: " + host_.change_why});
  if (host_.used.brief_rounds > kMostBriefRounds)
    return end({false, exit_code_of(Errc::no_progress),
                std::to_string(kMostBriefRounds) + " rounds in a row lost a node within " +
                    seconds_text(kBriefRound) + "; last: " + host_.change_why});
  host_.proposal.reset();
  if (host_.phase == Phase::running) stop_workers(host_.change_why, std::nullopt);
  host_.next_round = reason;
  host_.held = false;
  host_.phase = Phase::gathering;
  host_.gathering_until = now_ + settings_.join_timeout;
}

void HostTurn::charge(Reason reason) {
  auto& used = host_.used;
  if (reason == Reason::worker_failure) {
    ++used.worker_failures;
    used.brief_rounds = 0;
    return;
  }
  ++used.membership_changes;
  auto const was_running = host_.phase == Phase::running;
  auto const brief = was_running && now_ - host_.started < kBriefRound;
  if (reason == Reason::member_lost && brief)
    ++used.brief_rounds;
  else if (was_running && !brief)
    used.brief_rounds = 0;
}

// Whoever has not come back from under the host before is not waited for any longer.
void HostTurn::give_up_absent() {
  if (host_.expected_back > 0) host_.ghosts[Incarnation{}] = host_.absent;
  host_.expected_back = 0;
  std::vector<Incarnation> absent;
  for (auto const& [id, member] : host_.members)
    if (!member.here) absent.push_back(id);
  for (auto const id : absent) {
    auto const& member = host_.members.at(id);
    if (!host_.proven_dead.contains(id))
      host_.ghosts[id] = {member.heard, std::max(member.dead_sent, member.dead_held)};
    host_.members.erase(id);
  }
}

void HostTurn::begin_round(Reason reason) {
  give_up_absent();
  auto table = order_ranks(choose_nodes(), host_.table, settings_.given_ranks);
  if (!table) return end({false, exit_code_of(table.error().code), to_string(table.error())});
  if (auto const error = choose_addresses(*table))
    return end({false, exit_code_of(Errc::refused), to_string(*error)});

  host_.highest = host_.highest.next();
  Proposal proposal;
  proposal.table = *std::move(table);
  auto& record = proposal.record;
  record.generation = host_.generation;
  record.epoch = host_.epoch;
  record.round = host_.highest;
  record.host = host_.self;
  record.voters = voters_of(proposal.table);
  record.nodes = static_cast<std::uint32_t>(proposal.table.size());
  record.world_size = world_size_of(proposal.table);
  record.table_digest = digest_of(proposal.table);
  record.used = host_.used;
  if (host_.committed && host_.committed->used.worker_failures == host_.used.worker_failures)
    record.repeat = host_.committed->repeat + 1;
  record.reason = reason;
  if (host_.committed) proposal.bases.push_back(electorate_of(*host_.committed));
  for (std::size_t rank = 0; rank < proposal.table.size(); ++rank)
    host_.members.at(proposal.table[rank].node).place = rank;
  host_.proposal = std::move(proposal);
  host_.phase = Phase::forming;
}

// Those who had a place first, then spares in the order in which they came.
std::vector<NodeFacts> HostTurn::choose_nodes() const {
  std::vector<Member const*> members;
  for (auto const& [id, member] : host_.members)
    if (member.is_eligible()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](auto const* a, auto const* b) {
    if (a->seated != b->seated) return a->seated;
    return a->arrival < b->arrival;
  });
  if (members.size() > settings_.max_nodes) members.resize(settings_.max_nodes);
  std::vector<NodeFacts> nodes;
  for (auto const* member : members) nodes.push_back(member->facts);
  return nodes;
}

// By which interface and address the workers of these nodes reach each other.
std::optional<Error> HostTurn::choose_addresses(Table& table) const {
  std::vector<NodeReach> nodes;
  for (auto const& row : table) {
    auto const& member = host_.members.at(row.node);
    nodes.push_back({row.host, row.address, member.reached_at, member.facts.networks});
  }
  auto chosen = choose_networks(nodes);
  if (!chosen) return chosen.error();
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i].interface = (*chosen)[i].interface;
    table[i].address = (*chosen)[i].address;
  }
  return std::nullopt;
}

Seats HostTurn::voters_of(Table const& table) const {
  // All are named, few are called: only these need an address.
  Seats seats;
  for (auto const& row : table)
    seats.push_back({row.node, row.host.substr(0, kMostSeatName), {}, 0});
  auto voters = choose_voters(table, seats, host_.self);
  for (auto& seat : voters) {
    auto const& facts = host_.members.at(seat.node).facts;
    seat.address = reachable_address(seat.node, facts, host_.members);
    seat.port = facts.control_port;
  }
  return voters;
}

void HostTurn::stop_workers(std::string const& text, std::optional<Duration> grace) {
  host_.stop_why = text;
  host_.stop_grace = grace;
  host_.to_finish.clear();
  if (host_.workers_round == RoundNumber{}) return;
  std::optional<std::int64_t> grace_ns;
  if (grace) grace_ns = grace->count();
  for (auto const& [id, member] : host_.members) {
    if (!member.seated || !member.here) continue;
    host_.to_stop.insert(id);
    send(id, Stop{host_.workers_round, grace_ns, text});
  }
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

std::string reachable_address(Incarnation node, NodeFacts const& facts, Roster const& members) {
  if (!facts.address.empty() && !is_loopback(facts.address)) return facts.address;
  // It is on the host's own machine: what do its peers dial to reach that?
  std::string local;
  for (auto const& [id, member] : members) {
    if (id == node || !member.here || member.reached_at.empty()) continue;
    if (!is_loopback(member.reached_at)) return member.reached_at;
    if (local.empty()) local = member.reached_at;
  }
  if (!local.empty()) return local;
  return facts.address.empty() ? "127.0.0.1" : facts.address;
}

}  // namespace muster::membership
