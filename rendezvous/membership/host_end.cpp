// SPDX-License-Identifier: Apache-2.0
// The end of a job: workers stopped everywhere and reports gathered, then the outcome committed,
// told and acknowledged.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/rank_order.hpp"

namespace muster::membership {

// The first reason to end the job is the one that counts.
void HostTurn::end(RecordOutcome outcome) {
  if (host_.ending || host_.phase == Phase::over) return;
  // The outcome builds on a record that was found, too: it may have been committed elsewhere.
  if (host_.phase != Phase::resuming) host_.proposal.reset();
  host_.ending = Ending{std::move(outcome), false, TimePoint::max()};
  if (!host_.ending->outcome.success && host_.phase == Phase::running)
    stop_workers(host_.ending->outcome.why, std::nullopt);
  host_.phase = Phase::ending;
}

bool HostTurn::try_succeed() {
  if (!host_.to_finish.empty() || host_.expected_back > 0) return false;
  end({true, 0, ""});
  return true;
}

// The exit code and the sentence are made when all reports are in: the first report need not be the
// cause.
void HostTurn::blame_workers() {
  end({false, 1, cause_text()});
  host_.ending->by_workers = true;
}

std::string HostTurn::cause_text() const {
  auto const& cause = host_.failures[root_cause(host_.failures)];
  auto const fenced = cause.failure.exit_code == exit_code_of(Errc::fenced);
  return (fenced ? "workers were stopped for want of a lease on host "
                 : "a worker failed on host ") +
         host_of(cause.node);
}

bool HostTurn::try_conclude() {
  if (!host_.to_stop.empty()) return false;
  auto& ending = *host_.ending;
  if (ending.by_workers && !host_.failures.empty()) {
    ending.outcome.exit_code = host_.failures[root_cause(host_.failures)].failure.exit_code;
    ending.outcome.why =
        cause_text() + (settings_.max_restarts > 0 ? " and no restart is left" : "");
  }
  host_.highest = host_.highest.next();
  Proposal proposal;
  proposal.table = host_.table;
  proposal.store_asked = proposal.store_open = true;
  auto& record = proposal.record;
  if (host_.proposal) {
    proposal.bases = std::move(host_.proposal->bases);
    record = std::move(host_.proposal->record);
  } else if (host_.committed) {
    proposal.bases.push_back(electorate_of(*host_.committed));
    record = *host_.committed;
  }
  record.generation = host_.generation;
  record.epoch = host_.epoch;
  record.round = host_.highest;
  record.host = host_.self;
  record.used = host_.used;
  record.reason = Reason::outcome;
  record.outcome = ending.outcome;
  host_.proposal = std::move(proposal);
  host_.phase = Phase::concluding;
  ending.until = now_ + settings_.commit_patience;
  for (auto const& [id, member] : host_.members) send_prepare(id);
  return true;
}

bool HostTurn::try_commit_outcome() {
  auto& ending = *host_.ending;
  if (votes_suffice()) {
    host_.committed = std::move(host_.proposal->record);
  } else if (now_ < ending.until) {
    return false;
  } else if (host_.committed) {
    // Without a majority this is one host's word: others may have gone on, and end otherwise.
    auto const seen = ending.outcome.success ? "the job succeeded here" : ending.outcome.why;
    ending.outcome = {false, exit_code_of(Errc::lost_quorum),
                      seen + ", but no majority of its nodes can be reached"};
  }
  host_.proposal.reset();
  host_.phase = Phase::telling;
  ending.until = now_ + settings_.outcome_patience;
  for (auto const& [id, member] : host_.members) {
    if (!member.here) continue;
    host_.to_acknowledge.insert(id);
    tell(id);
  }
  return true;
}

bool HostTurn::try_finish() {
  if (!host_.to_acknowledge.empty() && now_ < host_.ending->until) return false;
  for (auto const& [id, member] : host_.members)
    if (member.here) send(id, Released{});
  host_.phase = Phase::over;
  finished_ = true;
  outcome_ = outcome_message();
  return true;
}

void HostTurn::tell(Incarnation node) {
  if (host_.ending) send(node, outcome_message());
}

Outcome HostTurn::outcome_message() const {
  auto const& outcome = host_.ending->outcome;
  Outcome message{outcome.success, outcome.exit_code, outcome.why, {}};
  if (outcome.success || host_.failures.empty()) return message;
  auto const first = root_cause(host_.failures);
  auto const add = [&message](FailureNote const& note) {
    auto const size = note.failure.report.size();
    if (size > 0 && size <= kMaxReportBytes && message.reports.size() < kMaxReports)
      message.reports.push_back(note.failure.report);
  };
  add(host_.failures[first]);
  for (std::size_t i = 0; i < host_.failures.size(); ++i)
    if (i != first) add(host_.failures[i]);
  return message;
}

std::size_t root_cause(std::vector<FailureNote> const& failures) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < failures.size(); ++i) {
    auto const& a = failures[i];
    auto const& b = failures[best];
    if (a.failure.is_consequence != b.failure.is_consequence) {
      if (!a.failure.is_consequence) best = i;
    } else if (a.at < b.at) {
      best = i;
    }
  }
  return best;
}

}  // namespace muster::membership
