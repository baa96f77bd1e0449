// SPDX-License-Identifier: Apache-2.0
// Promises, records, votes and vouchers.

#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {
namespace {

// Longer than any lease lasts.
constexpr Duration kVouchFor = std::chrono::seconds{120};

bool from_the_past(Voter const& voter, Record const& record) {
  if (record.generation != voter.generation) return record.generation < voter.generation;
  return record.epoch < voter.promised;
}

bool holds_more_than(Voter const& voter, Ask const& ask) {
  if (!voter.prepared) return false;
  auto const& record = voter.prepared->record;
  return std::pair(record.epoch, record.round) > std::pair(ask.prepared_in, ask.prepared);
}

}  // namespace

std::variant<Prepared, HostIs> answer_prepare(Voter& voter, Prepare const& prepare, TimePoint now) {
  auto const& record = prepare.record;
  if (from_the_past(voter, record)) return HostIs{voter.generation, voter.promised, {}, true};
  voter.generation = record.generation;
  voter.promised = record.epoch;
  if (!voter.prepared || is_newer(record, voter.prepared->record))
    voter.prepared = Proposed{record, prepare.bases};
  return Prepared{record.round, vouches(voter, now, kVouchFor)};
}

bool accept_commit(Voter& voter, Record const& record) {
  if (from_the_past(voter, record)) return false;
  if (voter.committed && !is_newer(record, *voter.committed)) return false;
  voter.generation = record.generation;
  voter.promised = record.epoch;
  voter.committed = record;
  if (!voter.prepared || !is_newer(voter.prepared->record, record))
    voter.prepared = Proposed{record, {}};
  return true;
}

VoteReply answer_vote(Voter& voter, VoteRequest const& request, HostSilence const& host,
                      TimePoint now) {
  VoteReply reply;
  reply.epoch = request.epoch;
  reply.promised = voter.promised;
  reply.host_age_ns = host.age.count();
  reply.highest = voter.prepared;
  reply.committed = voter.committed;
  reply.trial = request.trial;
  auto const missed = host.gone || host.age >= host.patience || host.asks_itself ||
                      (request.at_endpoint && !host.connected);
  if (!missed || request.epoch <= voter.voted || request.epoch <= voter.promised) return reply;
  reply.granted = true;
  if (!request.trial) reply.promised = voter.voted = voter.promised = request.epoch;
  reply.vouches = vouches(voter, now, kVouchFor);
  reply.gone.assign(voter.gone.begin(), voter.gone.end());
  return reply;
}

Answer answer_ask(Voter& voter, Header const& asker, Ask const& ask, HostSilence const& host,
                  TimePoint now) {
  auto const silent = !host.connected || host.age >= host.patience;
  if (!silent || asker.generation != voter.generation || asker.epoch != voter.promised)
    return {ask.stamp_ns, false};
  if (holds_more_than(voter, ask)) return {ask.stamp_ns, false};
  voter.vouched[asker.incarnation] = now;
  return {ask.stamp_ns, true};
}

std::vector<Vouch> vouches(Voter& voter, TimePoint now, Duration limit) {
  std::erase_if(voter.vouched, [&](auto const& entry) { return now - entry.second > limit; });
  std::vector<Vouch> list;
  for (auto const& [node, at] : voter.vouched) list.push_back({node, (now - at).count()});
  return list;
}

}  // namespace muster::membership
