// SPDX-License-Identifier: Apache-2.0
// One struct for each fault: what is told, held or asked for is falsified at one place.

#include "tests/sim/deliberate_faults.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;
using Effects = std::vector<member::Effect>;

// The message of an event that a member is told, whoever says it.
template <class M>
M* message_in(member::Event& event) {
  if (auto* heard = std::get_if<member::Heard>(&event)) return std::get_if<M>(&heard->message);
  if (auto* said = std::get_if<member::PeerSaid>(&event)) return std::get_if<M>(&said->message);
  return nullptr;
}

template <class M>
M* message_in(HostEvent& event) {
  auto* received = std::get_if<Received>(&event);
  return received ? std::get_if<M>(&received->message) : nullptr;
}

// The voter forgets that it has given its vote away, and to whom.
struct VotesTwice : Twist {
  void before_member(MemberState& member, member::Event& event) const override {
    auto const* request = message_in<VoteRequest>(event);
    if (!request || member.voter.voted < request->epoch) return;
    member.voter.voted = Epoch{request->epoch.value - 1};
    member.voter.promised = std::min(member.voter.promised, member.voter.voted);
    member.voted_at = TimePoint::min();
  }
};

// PREPARE is taken for COMMIT.
struct StartsOnPrepare : Twist {
  void after_member(MemberState const& before, MemberState& member,
                    Effects& effects) const override {
    auto const& prepared = member.voter.prepared;
    if (!prepared || prepared->record.outcome || member.running >= prepared->record.round) return;
    if (before.voter.prepared && before.voter.prepared->record.round == prepared->record.round)
      return;
    member.running = prepared->record.round;
    TableRow row;
    row.node = member.facts.incarnation;
    effects.push_back(member::StartWorkers{Commit{prepared->record, row, {}}});
  }
};

// Whoever is silent for long enough is dead, is it not?
struct TimeOutIsProof : Twist {
  void after_host(Host const& before, Host& host, HostStep&) const override {
    for (auto const& [id, ghost] : host.ghosts)
      if (!before.ghosts.contains(id)) host.proven_dead.insert(id);
  }
};

// Only the new record's voters are asked.
struct ForgetsOldVoters : Twist {
  void before_host(Host& host, HostEvent&, TimePoint) const override {
    if (host.proposal && host.phase == Phase::forming) host.proposal->bases.clear();
  }
};

struct EvictsEarly : Twist {
  void before_host(Host& host, HostEvent& event, TimePoint) const override {
    if (!std::holds_alternative<Tick>(event)) return;
    for (auto& [id, member] : host.members)
      if (id != host.self) member.heard -= member.dead_sent / 2;
  }
};

// The numbers of rounds that were not committed are given again, and so is the last one's.
struct ReusesRounds : Twist {
  void after_host(Host const& before, Host& host, HostStep&) const override {
    if (!before.committed && host.committed) host.highest = {};
  }
};

struct CommitsBeforeStopped : Twist {
  void before_host(Host& host, HostEvent&, TimePoint) const override {
    if (host.phase == Phase::forming || host.phase == Phase::gathering) host.to_stop.clear();
  }
};

// A rank that failed is as good as one that is done.
struct SucceedsThoughOneFailed : Twist {
  void before_host(Host&, HostEvent& event, TimePoint) const override {
    auto* received = std::get_if<Received>(&event);
    if (!received) return;
    if (auto const* failed = std::get_if<Failed>(&received->message)) {
      auto const round = failed->failure.round;
      received->message = Done{round};
    }
  }
};

// The lease may be gone: the workers go on.
struct IgnoresFence : Twist {
  void after_member(MemberState const& before, MemberState& member,
                    Effects& effects) const override {
    if (before.fenced || !member.fenced) return;
    std::erase_if(effects, [](member::Effect const& effect) {
      return std::holds_alternative<member::StopWorkers>(effect);
    });
  }
};

// A reign under the number of the one before.
struct RepeatsEpoch : Twist {
  void after_member(MemberState const&, MemberState& member, Effects& effects) const override {
    for (auto& effect : effects) {
      auto* become = std::get_if<member::BecomeHost>(&effect);
      if (!become) continue;
      become->host.epoch = Epoch{become->host.epoch.value - 1};
      become->host.proposal->record.epoch = become->host.epoch;
      member.voter.promised = become->host.epoch;
    }
  }
};

// What the host before had charged does not count any more.
struct ForgetsBudgets : Twist {
  void after_member(MemberState const&, MemberState&, Effects& effects) const override {
    for (auto& effect : effects)
      if (auto* become = std::get_if<member::BecomeHost>(&effect)) {
        become->host.used = {};
        become->host.proposal->record.used = {};
      }
  }
};

struct ChargesNothing : Twist {
  void after_host(Host const& before, Host& host, HostStep&) const override {
    if (host.used.worker_failures > before.used.worker_failures)
      host.used.worker_failures = before.used.worker_failures;
  }
};

// An acceptor that forgets its promise lets two reigns decide side by side; whoever is elected
// tells the others at once, which would hide it, so that news is lost, as any may be.
struct ForgetsPromise : Twist {
  void before_member(MemberState& member, member::Event& event) const override {
    auto const* prepare = message_in<Prepare>(event);
    if (prepare && member.voter.promised > prepare->record.epoch)
      member.voter.promised = prepare->record.epoch;
  }
  void after_member(MemberState const&, MemberState&, Effects& effects) const override {
    std::erase_if(effects, [](member::Effect const& effect) {
      auto const* call = std::get_if<member::CallSeat>(&effect);
      return call && std::holds_alternative<HostIs>(call->message);
    });
  }
};

// The workers of every round meet at the same port.
struct ReusesStore : Twist {
  void before_member(MemberState&, member::Event& event) const override {
    if (auto* opened = std::get_if<member::StoreIsOpen>(&event)) opened->result.port = 20'000;
  }
};

// An agent that lost its host takes its own workers' end for the job's.
struct ExitsZeroAlone : Twist {
  void after_member(MemberState const&, MemberState& member, Effects& effects) const override {
    for (auto& effect : effects)
      if (auto* end = std::get_if<member::Conclude>(&effect); end && member.done == member.running)
        end->outcome = Outcome{true, 0, "", {}};
  }
};

// Whoever ends does so with the code of its own workers.
struct OutcomeReversed : Twist {
  void before_host(Host& host, HostEvent&, TimePoint) const override {
    if (host.phase == Phase::telling && host.ending && !host.ending->outcome.success)
      host.ending->outcome.exit_code = 1 + host.ending->outcome.exit_code % 100;
  }
};

// A successor takes the last committed record over, whatever was prepared after it.
struct IgnoresPrepared : Twist {
  void after_member(MemberState const&, MemberState& member, Effects& effects) const override {
    for (auto& effect : effects) {
      auto* become = std::get_if<member::BecomeHost>(&effect);
      if (!become || !become->host.committed) continue;
      auto const& made = become->host;
      Mandate mandate;
      mandate.record.record = *made.committed;
      mandate.committed = made.committed;
      mandate.gone = made.proven_dead;
      for (auto const& [voter, at] : made.confirmed) mandate.granted.insert(voter);
      become->host = make_successor({made.run_id, made.name, made.self, made.epoch}, mandate,
                                    made.started, member.job);
    }
  }
};

// A host that has lost its majority goes on to promise that nobody else decides.
struct AcknowledgesAlone : Twist {
  void after_host(Host const&, Host& host, HostStep& step) const override {
    if (!host.committed || host.phase == Phase::resuming) return;
    for (auto& sent : step.sends)
      if (auto* ack = std::get_if<Ack>(&sent.message)) ack->quorum_age_ns = 0;
  }
};

// Two survivors change places in the next round.
struct DisplacesSurvivors : Twist {
  void after_host(Host const& before, Host& host, HostStep&) const override {
    auto const forms = host.committed && host.proposal && host.phase == Phase::forming;
    if (!forms || host.proposal->table.size() < 3) return;  // the first one opens the store
    auto const round = host.proposal->record.round;
    if (before.proposal && before.proposal->record.round == round) return;
    auto& first = *std::prev(host.proposal->table.end(), 2);
    auto& second = host.proposal->table.back();
    auto const base = first.rank_base;
    std::swap(first, second);
    std::swap(first.group_rank, second.group_rank);
    first.rank_base = base;
    second.rank_base = base + first.local_world_size;
  }
};

// What a member was told once it is not told again, though the letter was lost.
struct SaysNothingTwice : Twist {
  void after_host(Host const& before, Host&, HostStep& step) const override {
    std::erase_if(step.sends, [&](Send const& sent) { return was_said(before, sent); });
  }
  static bool was_said(Host const& before, Send const& sent) {
    auto const forming = before.proposal && before.proposal->store_open;
    if (std::holds_alternative<Stop>(sent.message)) return before.to_stop.contains(sent.to);
    if (std::holds_alternative<Outcome>(sent.message)) return before.phase == Phase::telling;
    if (auto const* probe = std::get_if<Probe>(&sent.message))
      return forming && before.proposal->record.round == probe->round;
    if (auto const* prepare = std::get_if<Prepare>(&sent.message))
      return forming && before.proposal->record == prepare->record;
    if (auto const* commit = std::get_if<Commit>(&sent.message))
      return before.committed && *before.committed == commit->record;
    if (auto const* wish = std::get_if<OpenStore>(&sent.message))
      return before.proposal && before.proposal->record.round == wish->round;
    return false;
  }
};

}  // namespace

std::vector<DeliberateFault> deliberate_faults() {
  return {
      {"a voter votes twice in an epoch", {4, 1}, std::make_shared<VotesTwice>()},
      {"workers start on PREPARE", {5}, std::make_shared<StartsOnPrepare>()},
      {"a time-out counts as a death", {3}, std::make_shared<TimeOutIsProof>()},
      {"the old record's voters are not asked", {3}, std::make_shared<ForgetsOldVoters>()},
      {"a member is evicted before `dead`", {9}, std::make_shared<EvictsEarly>()},
      {"a round's number is used again", {2, 4, 3, 12}, std::make_shared<ReusesRounds>()},
      {"a round is committed before the old workers are dead",
       {6},
       std::make_shared<CommitsBeforeStopped>()},
      {"success though a rank failed", {10}, std::make_shared<SucceedsThoughOneFailed>()},
      {"a member without a lease lets its workers live", {6, 12}, std::make_shared<IgnoresFence>()},
      {"a successor reigns under the old epoch", {1, 3, 4}, std::make_shared<RepeatsEpoch>()},
      {"succession forgets the budgets", {11, 2}, std::make_shared<ForgetsBudgets>()},
      {"a failure is not charged", {11}, std::make_shared<ChargesNothing>()},
      {"a voter forgets its promise", {4, 1, 3}, std::make_shared<ForgetsPromise>()},
      {"the rounds share a store", {8}, std::make_shared<ReusesStore>()},
      {"an agent exits 0 without the job's outcome", {10}, std::make_shared<ExitsZeroAlone>()},
      {"the outcome is told otherwise than committed", {10}, std::make_shared<OutcomeReversed>()},
      {"a successor ignores prepared records", {2, 3, 11}, std::make_shared<IgnoresPrepared>()},
      {"a host acknowledges without a quorum", {6, 12}, std::make_shared<AcknowledgesAlone>()},
      {"survivors lose their ranks", {7}, std::make_shared<DisplacesSurvivors>()},
      {"nothing is said twice", {12, 10}, std::make_shared<SaysNothingTwice>()},
  };
}

}  // namespace muster::sim
