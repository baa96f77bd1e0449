// SPDX-License-Identifier: Apache-2.0
// Depth first, over copies of the world.

#include "rendezvous/sim/explore.hpp"

#include "rendezvous/sim/ample.hpp"
#include "rendezvous/sim/digest.hpp"

#include <algorithm>
#include <unordered_map>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

struct DigestHash {
  std::size_t operator()(Digest const& digest) const { return digest.low; }
};

struct Step {
  enum class Kind : std::uint8_t { due, fault, time } kind = Kind::due;
  std::uint64_t number = 0;  // of what is due, or of the fault in the bounds
  bool detour = false;       // something else was due before
};

// How much of the bounds a history has used. A state that was reached with less is not looked at
// again.
struct Used {
  std::uint32_t strikes = 0, detours = 0;
};

struct Seen {
  std::uint32_t detours = 0;  // used until then
  bool is_under_way = false;  // by the present history
};

struct Frame {
  World world;
  std::vector<Step> steps;
  std::size_t next = 0;
  Used used;
  Seen* seen = nullptr;  // its own
};

class Explorer {
 public:
  Explorer(Plan const& plan, Bounds const& bounds, Twist const* twist)
      : plan_(plan),
        bounds_(bounds),
        twist_(twist),
        reduces_(bounds.reduce && !may_mend(plan, bounds.faults)) {}

  Exploration run() {
    enter(World(1, plan_, Telling::nothing, twist_), {});
    while (!stack_.empty() && result_.violations.empty()) {
      if (result_.states >= bounds_.states) return std::move(result_);
      auto& frame = stack_.back();
      if (frame.next < frame.steps.size())
        follow(frame, frame.steps[frame.next++]);
      else
        leave();
    }
    result_.complete = result_.violations.empty();
    return std::move(result_);
  }

 private:
  void follow(Frame& frame, Step const& step) {
    auto const last = frame.next == frame.steps.size();
    auto world = last ? std::move(frame.world) : frame.world;
    take(world, step);
    ++result_.steps;
    if (!world.checker.violations.empty()) return stop_at(world);
    auto used = frame.used;
    if (step.kind == Step::Kind::fault) ++used.strikes;
    if (step.detour) ++used.detours;
    enter(std::move(world), used);
  }

  void take(World& world, Step const& step) const {
    if (step.kind == Step::Kind::time) return world.agenda.go_on();
    if (step.kind == Step::Kind::fault) {
      world.strike(bounds_.faults[step.number]);
      if (bounds_.heal_after > Duration::zero()) world.agenda.plan(bounds_.heal_after, due::Heal{});
    } else {
      world.happen(world.agenda.take_number(step.number));
    }
    world.drop_stale();
  }

  void enter(World world, Used used) {
    auto const view = view_of(world);
    auto digest = digest_of(world, view);
    digest.high += std::uint64_t{used.strikes} * 0x9E3779B97F4A7C15ULL;
    auto const detours = bounds_.detours == kEveryOrder ? 0 : used.detours;
    auto const [place, is_new] = seen_.emplace(digest, Seen{detours});
    auto& seen = place->second;
    if (seen.is_under_way) {
      world.checker.violations.push_back({12, "all is as it was before: so it may go on for ever"});
      return stop_at(world);
    }
    if (is_new)
      ++result_.states;
    else if (seen.detours <= detours)
      return;
    seen.detours = detours;
    if (is_over(world)) {
      result_.ends.insert(digest);
      world.checker.check_end(world);
      if (!world.checker.violations.empty()) stop_at(world);
      return;
    }
    auto steps = steps_from(world, view, used);
    seen.is_under_way = true;
    stack_.push_back({std::move(world), std::move(steps), 0, used, &seen});
    result_.deepest = std::max(result_.deepest, stack_.size());
  }

  void leave() {
    stack_.back().seen->is_under_way = false;
    stack_.pop_back();
  }

  // In an order that the state gives, so that a detour is one whatever led here.
  std::vector<Step> steps_from(World const& world, View const& view, Used const& used) {
    if (reduces_)
      if (auto const number = ample_event(world, view)) return {{Step::Kind::due, *number, false}};
    std::vector<Step> steps;
    for (auto const& channel : view.channels) {
      auto const& first = *channel.due.front();
      if (first.at <= world.moment())
        steps.push_back({Step::Kind::due, first.number, !steps.empty()});
    }
    auto const is_quiet = steps.empty();
    if (steps.size() > 1 && used.detours >= bounds_.detours) {
      result_.cut = true;
      steps.resize(1);
    }
    if (used.strikes < bounds_.strikes)
      for (std::size_t i = 0; i < bounds_.faults.size(); ++i)
        steps.push_back({Step::Kind::fault, i, false});
    if (is_quiet) steps.push_back({Step::Kind::time, 0, false});
    return steps;
  }

  static bool is_over(World const& world) {
    return world.agenda.empty() || world.everybody_ended() || world.elapsed() > world.last_moment();
  }

  void stop_at(World const& world) {
    result_.violations = world.checker.violations;
    tell();
  }

  // The same history once more, aloud.
  void tell() {
    World world(1, plan_, Telling::everything, twist_);
    for (auto const& frame : stack_) take(world, frame.steps[frame.next - 1]);
    result_.story = world.story;
    for (auto const& violation : result_.violations)
      result_.story.push_back("VIOLATION of " + to_text(violation));
  }

  Plan const& plan_;
  Bounds const& bounds_;
  Twist const* twist_;
  bool reduces_;
  Exploration result_;
  std::vector<Frame> stack_;
  std::unordered_map<Digest, Seen, DigestHash> seen_;
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
