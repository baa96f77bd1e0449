// SPDX-License-Identifier: Apache-2.0
// Promises, records and votes.

#include "rendezvous/membership/voter_step.hpp"

namespace muster::membership {
namespace {

bool from_the_past(Voter const& voter, Record const& record) {
  if (record.generation != voter.generation) return record.generation < voter.generation;
  return record.epoch < voter.promised;
}

}  // namespace

std::variant<Prepared, Deposed> answer_prepare(Voter& voter, Prepare const& prepare) {
  auto const& record = prepare.record;
  if (from_the_past(voter, record)) return Deposed{voter.generation, voter.promised};
  voter.generation = record.generation;
  voter.promised = record.epoch;
  if (!voter.prepared || is_newer(record, *voter.prepared)) voter.prepared = record;
  return Prepared{record.round};
}

bool accept_commit(Voter& voter, Record const& record) {
  if (from_the_past(voter, record)) return false;
  if (voter.committed && !is_newer(record, *voter.committed)) return false;
  voter.generation = record.generation;
  voter.promised = record.epoch;
  voter.committed = record;
  if (!voter.prepared || is_newer(record, *voter.prepared)) voter.prepared = record;
  return true;
}

VoteReply answer_vote(Voter& voter, VoteRequest const& request) {
  VoteReply reply{request.epoch, false, voter.prepared};
  if (request.epoch <= voter.voted || request.epoch <= voter.promised) return reply;
  voter.voted = voter.promised = request.epoch;
  reply.granted = true;
  return reply;
}

}  // namespace muster::membership
