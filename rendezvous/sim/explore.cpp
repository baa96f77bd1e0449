// SPDX-License-Identifier: Apache-2.0
// Depth first, over copies of the world.

#include "rendezvous/sim/explore.hpp"

#include "rendezvous/sim/digest.hpp"
#include "rendezvous/sim/reduction.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

struct DigestHash {
  std::size_t operator()(Digest const& digest) const { return digest.low; }
};

struct Step {
  enum class Kind : std::uint8_t { head, fault, time } kind = Kind::head;
  std::size_t place = 0;  // of the head, or of the fault in the bounds
  bool detour = false;    // something else was due before
};

// How much of the bounds a history has used. A state that was reached with less is not looked at
// again.
struct Used {
  std::uint32_t strikes = 0, detours = 0;
};

struct Frame {
  World world;
  Digest digest;
  Used used;
  std::vector<Head> heads;  // by name; the fault that may strike is the last where orders are
                            // reduced
  std::vector<Step> steps;
  std::size_t next = 0;
  Heads chosen = 0;            // these heads are among the steps
  std::vector<Touch> touches;  // of the step that is followed
  Summary below;
};

struct Seen {
  std::uint32_t detours = 0;
  std::uint32_t summary = 0;
};
constexpr std::uint32_t kOnStack = 0xffffffff;

Heads head_bit(std::size_t place) {
  return place < kMostHeads ? Heads{1} << place : 0;
}

class Explorer {
 public:
  Explorer(Plan const& plan, Bounds const& bounds, Twist const* twist)
      : plan_(plan), bounds_(bounds), twist_(twist) {
    reduced_ = bounds.reduced && bounds.detours == kEveryOrder && bounds.strikes == 1;
    summaries_.emplace_back();
  }

  // Where orders are reduced each fault is a world of its own: that one strikes and another does
  // not would be in conflict with everything.
  Exploration run() {
    auto const worlds = reduced_ ? std::max<std::size_t>(1, bounds_.faults.size()) : 1;
    for (fault_ = 0; fault_ < worlds; ++fault_)
      if (!run_one()) return finished(false);
    return finished(true);
  }

 private:
  bool run_one() {
    enter(World(1, plan_, Telling::nothing, twist_), {});
    while (!stack_.empty()) {
      if (!result_.violations.empty() || result_.states >= bounds_.states) return false;
      auto& frame = stack_.back();
      if (frame.next < frame.steps.size())
        follow(frame, frame.steps[frame.next++]);
      else
        leave();
    }
    return result_.violations.empty();
  }

  Exploration finished(bool complete) {
    result_.complete = complete;
    result_.ends_seen.assign(ends_seen_.begin(), ends_seen_.end());
    return std::move(result_);
  }

  void follow(Frame& frame, Step const& step) {
    auto const last = !reduced_ && frame.next == frame.steps.size();
    auto world = last ? std::move(frame.world) : frame.world;
    frame.touches = take(world, step, frame.heads);
    ++result_.steps;
    if (!world.checker.violations.empty()) return stop_at(world);
    auto used = frame.used;
    if (step.kind == Step::Kind::fault) ++used.strikes;
    if (step.detour) ++used.detours;
    enter(std::move(world), used);
  }

  std::vector<Touch> take(World& world, Step const& step, std::vector<Head> const& heads) const {
    std::vector<Touch> touches;  // while orders are reduced
    if (step.kind == Step::Kind::time) {
      world.agenda.go_on();
      return touches;
    }
    auto const before = reduced_ ? Sight::of(world) : Sight{};
    if (step.kind == Step::Kind::fault) {
      auto const& fault = bounds_.faults[step.place];
      if (reduced_) touches = touches_of(world, fault);
      world.strike(fault);
      if (bounds_.heal_after > Duration::zero()) world.agenda.plan(bounds_.heal_after, due::Heal{});
    } else {
      auto const& head = heads[step.place];
      auto const what = world.agenda.take_number(head.number);
      if (reduced_) touches = touches_of(world, what, head.owner);
      world.happen(what);
    }
    if (reduced_) add_touches(touches, before, world);
    world.drop_stale();
    return touches;
  }

  void enter(World world, Used used) {
    auto const view = view_of(world);
    auto heads = heads_of(world, view);
    auto digest = digest_of(world, view);
    auto const may_strike = used.strikes < bounds_.strikes && !bounds_.faults.empty();
    digest.high +=
        (std::uint64_t{used.strikes} << 8 | (may_strike ? fault_ : 0)) * 0x9E3779B97F4A7C15ULL;
    if (reduced_ && may_strike) heads.push_back({{}, 0, struck_node()});
    auto const detours = bounds_.detours == kEveryOrder ? 0 : used.detours;
    auto const [seen, is_new] = seen_.emplace(digest, Seen{detours, 0});
    if (is_new)
      ++result_.states;
    else if (seen->second.detours <= detours)
      return know(heads, seen->second.summary == kOnStack
                             ? anything()
                             : particular(summaries_[seen->second.summary], view.names));
    seen->second = {detours, 0};
    if (reduced_) seen->second.summary = kOnStack;
    if (is_over(world, heads)) {
      auto const rest = strike_alone(world, heads);
      seen->second.summary = keep(rest, view.names);
      ++result_.ends;
      ends_seen_.insert(digest.low);
      world.checker.check_end(world);
      if (!world.checker.violations.empty()) return stop_at(world);
      return know(heads, rest);
    }
    Frame frame{std::move(world), digest, used, std::move(heads), {}, 0, 0, {}, {}};
    choose(frame);
    if (bounds_.swap_every > 0 && result_.states % bounds_.swap_every == 0) try_swaps(frame);
    stack_.push_back(std::move(frame));
    result_.deepest = std::max(result_.deepest, stack_.size());
  }

  void leave() {
    auto frame = std::move(stack_.back());
    stack_.pop_back();
    if (!reduced_) return;
    seen_.at(frame.digest).summary = keep(frame.below, names_of_connections(frame.world));
    know(frame.heads, frame.below);
  }

  std::uint32_t keep(Summary const& below, ConnectionNames const& names) {
    if (below.empty()) return 0;
    summaries_.push_back(general(below, names));
    summaries_.back().shrink_to_fit();
    return static_cast<std::uint32_t>(summaries_.size() - 1);
  }

  // A history is over, and the fault could still strike: that makes no difference any more, but
  // what came before might have met it.
  Summary strike_alone(World world, std::vector<Head> const& heads) const {
    Summary summary;
    if (!reduced_ || heads.empty()) return summary;
    auto const last = heads.size() - 1;
    for (auto const& touch : take(world, {Step::Kind::fault, fault_, false}, heads))
      merge(summary, {touch, heads[last].owner, {}, 0, head_bit(last)});
    return summary;
  }

  // What is below the state to which the step led that is followed at the top of the stack.
  void know(std::vector<Head> const& heads, Summary const& below) {
    if (!reduced_ || stack_.empty()) return;
    auto& frame = stack_.back();
    auto const& step = frame.steps[frame.next - 1];
    if (step.kind == Step::Kind::time) return;
    auto const place = step.kind == Step::Kind::fault ? frame.heads.size() - 1 : step.place;
    auto const found = review({frame.heads, place, frame.touches, heads}, below);
    for (auto const& one : found.summary) merge(frame.below, one);
    for (auto const& conflict : found.conflicts) {
      if (conflict.instead & frame.chosen) continue;
      for (std::size_t i = 0; i < frame.heads.size(); ++i)
        if (conflict.instead == 0 || (conflict.instead & head_bit(i))) {
          add_with_its_machine(frame, i);
          if (conflict.instead != 0) break;
        }
    }
  }

  // The heads of a machine are in conflict with each other.
  void add_with_its_machine(Frame& frame, std::size_t place) {
    auto const owner = frame.heads[place].owner;
    auto const is_fault = frame.heads[place].number == 0;
    for (std::size_t i = 0; i < frame.heads.size(); ++i) {
      auto const same =
          i == place || (frame.heads[i].owner == owner && !is_fault && frame.heads[i].number != 0);
      if (same) add(frame, i);
    }
  }

  void add(Frame& frame, std::size_t place) {
    auto const is_fault = frame.heads[place].number == 0;
    Step const step{is_fault ? Step::Kind::fault : Step::Kind::head, is_fault ? fault_ : place,
                    false};
    auto const known = std::any_of(frame.steps.begin(), frame.steps.end(), [&](Step const& other) {
      return other.kind == step.kind && other.place == step.place;
    });
    if (known) return;
    frame.steps.push_back(step);
    frame.chosen |= head_bit(place);
  }

  // In an order that the state gives, so that a detour is one whatever led here.
  void choose(Frame& frame) {
    auto const strikes = frame.used.strikes < bounds_.strikes && !bounds_.faults.empty();
    auto const due = frame.heads.size() - (reduced_ && strikes ? 1 : 0);
    if (reduced_) {
      if (due > 0) return add_with_its_machine(frame, first_of(frame, due));
      if (strikes) add(frame, due);
    } else {
      for (std::size_t i = 0; i < due; ++i) frame.steps.push_back({Step::Kind::head, i, i > 0});
      if (due > 1 && frame.used.detours >= bounds_.detours) {
        result_.cut = true;
        frame.steps.resize(1);
      }
      for (std::size_t i = 0; strikes && i < bounds_.faults.size(); ++i)
        frame.steps.push_back({Step::Kind::fault, i, false});
    }
    if (due == 0) frame.steps.push_back({Step::Kind::time, 0, false});
  }

  // A machine that hosts hears from all others: it is left for the last.
  std::size_t first_of(Frame const& frame, std::size_t due) const {
    auto const rank = [&](std::size_t place) {
      auto const owner = frame.heads[place].owner;
      if (owner >= frame.world.nodes.size()) return std::size_t{1'000};
      auto const* process = frame.world.last_on(owner);
      auto const hosts = process && process->hosting && !process->hosting->finished;
      auto const of_it = std::count_if(frame.heads.begin(), frame.heads.end(),
                                       [&](Head const& head) { return head.owner == owner; });
      return static_cast<std::size_t>(of_it) + (hosts ? 100 : 0);
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < due; ++i)
      if (rank(i) < rank(best)) best = i;
    return best;
  }

  std::vector<Head> heads_of(World const& world, View const& view) const {
    std::vector<Head> heads;
    for (auto const& channel : view.channels)
      if (channel.due.front()->at <= world.moment())
        heads.push_back({channel.origin, channel.due.front()->number, channel.owner});
    return heads;
  }

  NodeIndex struck_node() const {
    auto const* loss = std::get_if<fault::PowerLoss>(&bounds_.faults[fault_]);
    return loss ? loss->node : kNoNode;
  }

  // Judged when nothing is under way: by then all orders of the same events have come to the same.
  bool is_over(World const& world, std::vector<Head> const& heads) const {
    for (auto const& head : heads)
      if (head.number != 0) return false;
    return world.agenda.empty() || world.everybody_ended() || world.elapsed() > world.last_moment();
  }

  static bool is_due(World const& world, Head const& head) {
    auto const& pending = world.agenda.pending();
    return head.number == 0 || std::any_of(pending.begin(), pending.end(), [&](Due const& due) {
             return due.number == head.number;
           });
  }

  // Of each pair of heads that touch nothing in common.
  void try_swaps(Frame const& frame) {
    auto const count = frame.heads.size();
    auto const step_of = [&](std::size_t place) {
      auto const is_fault = frame.heads[place].number == 0;
      return Step{is_fault ? Step::Kind::fault : Step::Kind::head, is_fault ? fault_ : place,
                  false};
    };
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b) {
        World one = frame.world, other = frame.world;
        auto const first = take(one, step_of(a), frame.heads);
        auto const second = take(other, step_of(b), frame.heads);
        if (in_conflict(first, second)) continue;
        ++result_.swaps;
        // What came to nothing by the other one (a call that was hung up) would have done nothing.
        auto const b_is_due = is_due(one, frame.heads[b]);
        auto const a_is_due = is_due(other, frame.heads[a]);
        auto const after_first = b_is_due ? take(one, step_of(b), frame.heads) : second;
        auto const after_second = a_is_due ? take(other, step_of(a), frame.heads) : first;
        auto const same = digest_of(one) == digest_of(other) && after_first == second &&
                          after_second == first &&
                          one.checker.violations.size() == other.checker.violations.size();
        if (!same) return report_swap(frame, a, b);
      }
  }

  void report_swap(Frame const& frame, std::size_t a, std::size_t b) {
    World world = frame.world;
    auto const text = [&](std::size_t place) {
      auto const& head = frame.heads[place];
      return "(" + std::to_string(head.origin[0]) + " at node " + std::to_string(head.owner) + ")";
    };
    world.checker.violations.push_back(
        {0, "two events that touch nothing in common differ by their order: " + text(a) + text(b)});
    stop_at(world);
  }

  void stop_at(World const& world) {
    result_.violations = world.checker.violations;
    tell();
  }

  // The same history once more, aloud.
  void tell() {
    World world(1, plan_, Telling::everything, twist_);
    for (auto const& frame : stack_)
      if (frame.next > 0) take(world, frame.steps[frame.next - 1], frame.heads);
    result_.story = world.story;
    for (auto const& violation : result_.violations)
      result_.story.push_back("VIOLATION of " + to_text(violation));
  }

  Plan const& plan_;
  Bounds const& bounds_;
  Twist const* twist_;
  bool reduced_ = false;
  std::size_t fault_ = 0;
  Exploration result_;
  std::vector<Frame> stack_;
  std::unordered_map<Digest, Seen, DigestHash> seen_;
  std::vector<Summary> summaries_;  // the first is empty
  std::set<std::uint64_t> ends_seen_;
};

}  // namespace

Exploration explore(Plan const& plan, Bounds const& bounds, Twist const* twist) {
  return Explorer(plan, bounds, twist).run();
}

Plan exact_plan(std::uint32_t nodes, std::uint32_t min_nodes) {
  Plan plan;
  plan.exact = true;
  plan.nodes = nodes;
  plan.job.min_nodes = min_nodes;
  plan.job.max_nodes = nodes;
  plan.job.quiet = 500ms;
  plan.job.join_timeout = 6s;
  plan.job.lease_every = 2s;
  plan.job.dead = 3s;
  plan.job.dead_at_min = 4s;
  plan.script.least_work = plan.script.most_work = 1s;
  plan.spread = plan.least_delay = plan.own_letter = plan.kill_time = plan.grace = plan.jitter =
      Duration::zero();
  plan.weather.most_delay = Duration::zero();
  plan.drift = 0;
  return plan;
}

}  // namespace muster::sim
