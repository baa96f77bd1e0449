// SPDX-License-Identifier: Apache-2.0
#pragma once
// The twelve invariants of the rendezvous, one function each, checked after every event against
// what the whole machine room knows. The checker counts quorums and deaths for itself: it shares no
// rule with the cores.

#include "rendezvous/sim/process.hpp"

#include <set>
#include <string>
#include <vector>

namespace muster::sim {

class World;

// Where a record stands in the order of decisions.
struct Mark {
  Generation generation;
  Epoch epoch;
  RoundNumber round;
  auto operator<=>(Mark const&) const = default;
};
inline Mark mark_of(membership::Record const& record) {
  return {record.generation, record.epoch, record.round};
}

// What must never fall, of one member.
struct MemberMarks {
  Incarnation who;
  Generation generation;
  Epoch epoch, promised;
  Mark prepared, committed;
  static MemberMarks of(membership::MemberState const& member);
};

// What a host held before an event, as far as the invariants compare.
struct HostMarks {
  struct Place {
    Incarnation node;
    Duration dead{};
    bool counts = false;  // it has called, and does not mean to leave
  };
  membership::Phase phase = membership::Phase::gathering;
  Epoch epoch;
  Mark committed;
  std::vector<Place> members;
  std::size_t proven_dead = 0, prepared = 0;  // of the coming record
  static HostMarks of(membership::Host const& host);
};

// What one event brought to light.
struct Evidence {
  struct MemberStep {
    ProcessId process;
    MemberMarks before, after;
  };
  struct Committed {
    ProcessId by;
    Incarnation host;
    membership::Record record;
    membership::Table table;
    std::set<Incarnation> proven_dead;  // as that host knows
  };
  struct CountedOut {  // for its silence, as nothing that it said explains it
    ProcessId by;
    Incarnation node;
    TimePoint heard;  // by that host, in the world's time
    Duration dead{};
  };
  struct Proven {
    ProcessId by;
    Incarnation node;
  };
  struct Start {
    ProcessId process;
    bool others = false;  // workers of another round were alive there
    membership::Commit commit;
  };
  struct Vote {
    Generation generation;
    Epoch epoch;
    Incarnation voter, candidate;
  };
  struct Store {
    ProcessId process;
    membership::StoreOpened opened;
  };

  std::vector<MemberStep> members;
  std::vector<Committed> commits;
  std::vector<CountedOut> counted_out;
  std::vector<Proven> proven;
  std::vector<Start> starts;
  std::vector<Vote> votes;
  std::vector<Store> stores;
  std::vector<Incarnation> words;  // last words that were said
  // Rounds of which a worker failed by itself.
  std::vector<std::pair<Generation, RoundNumber>> failures;
  std::vector<ProcessId> ends;  // agents that ended

  void clear();
  void note_vote(membership::Header const& voter, membership::VoteReply const& reply,
                 Incarnation candidate);
  void note_host(Process const& process, HostMarks const& before,
                 membership::HostEvent const& event);
};

struct Violation {
  int invariant = 0;  // 1 to 12; 0: a core threw
  std::string what;
};
std::string to_text(Violation const& violation);

// From the end of the last fault to a commit or an outcome, where one must follow.
Duration progress_bound(membership::JobSettings const& job);

class Checker {
 public:
  struct Decision {
    membership::Record record;
    membership::Table table;
  };
  struct Store {
    RoundNumber round;
    std::optional<Mark> used;  // by whose workers
  };

  void check(World const& world, Evidence const& evidence);
  void check_end(World const& world);  // the history is over

  std::vector<Violation> violations;
  // Exceptions that invariant 6 allows: workers that ran on because their machine stood still, and
  // those of a world beside which another one was born, for its endpoint's node began anew.
  std::uint64_t excused = 0, twins = 0;

  // What the checker learned so far. All of it counts for what may still break.
  struct Known {
    std::map<Mark, Decision> decisions;
    std::map<Mark, std::set<Incarnation>> holders;  // of each record, ever
    std::map<std::pair<Generation, Epoch>, Incarnation> reigns;
    std::map<std::pair<Generation, RoundNumber>, Mark> rounds;  // the first decision of each
    std::map<std::pair<Mark, Incarnation>, Incarnation> votes;  // a mark without a round
    std::set<Incarnation> dead;                                 // by their last word
    std::set<std::pair<Generation, RoundNumber>> failed;
    std::map<std::pair<NodeIndex, std::uint16_t>, Store> stores;
    std::map<Generation, membership::RecordOutcome> outcomes;
  };
  Known const& known() const { return known_; }
  std::map<Mark, Decision> const& decisions() const { return known_.decisions; }
  TimePoint decided_at(Mark mark) const { return moments_.at(mark); }
  membership::Table const* table_of(Generation generation, RoundNumber round) const;
  std::optional<membership::RecordOutcome> outcome() const;  // of the first job

 private:
  void one_host_commits(Evidence const& evidence);                             // 1
  void one_record_a_round(Evidence const& evidence);                           // 2
  void quorums_overlap(World const& world, Evidence const& evidence);          // 3
  void nothing_falls(World const& world, Evidence const& evidence);            // 4
  void workers_have_a_record(World const& world, Evidence const& evidence);    // 5
  void one_round_at_a_time(World const& world, Evidence const& evidence);      // 6
  void ranks_are_in_order(World const& world, Evidence const& evidence);       // 7
  void stores_are_fresh(World const& world, Evidence const& evidence);         // 8
  void nobody_is_evicted_early(World const& world, Evidence const& evidence);  // 9
  void one_outcome(World const& world, Evidence const& evidence);              // 10
  void budgets_add_up(World const& world, Evidence const& evidence);           // 11
  void it_goes_on(World const& world);                                         // 12

  void learn(World const& world, Evidence const& evidence);
  static bool is_excused(World const& world, Process const& process);
  static bool agreed(membership::Electorate const& base, std::set<Incarnation> const& holders,
                     std::set<Incarnation> const& dead);
  void is_free_to_forget(World const& world, MemberMarks const& before);
  membership::Electorate newest_held(World const& world) const;
  Decision const* before(Mark mark) const;
  Decision const* workers_before(Mark mark) const;
  void violate(int invariant, std::string what);

  Known known_;
  std::map<Mark, TimePoint> moments_;
  TimePoint last_progress_;
  bool asked_for_progress_ = false;
};

}  // namespace muster::sim
