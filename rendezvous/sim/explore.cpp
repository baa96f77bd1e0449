// SPDX-License-Identifier: Apache-2.0
// Depth first, over copies of the world.

#include "rendezvous/sim/explore.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/digest.hpp"

#include <algorithm>
#include <unordered_map>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

struct DigestHash {
  std::size_t operator()(Digest const& digest) const { return digest.low; }
};

struct Choice {
  std::uint64_t number = 0;  // of what is due; 0: a fault strikes
  std::size_t fault = 0;
  bool early = false;   // a timer, while letters are under way
  bool detour = false;  // something else was due before
};

// How much of the bounds a history has used. A state that was reached with less is not looked at
// again.
struct Used {
  std::uint32_t strikes = 0, early = 0, detours = 0;
};

struct Frame {
  World world;
  std::vector<Choice> choices;
  std::size_t next = 0;
  Used used;
};

// Timers stand alone: each is a channel of its own, by what it is and for whom.
std::vector<std::uint64_t> channel_of(Due const& due, ConnectionNames const& names) {
  auto const kind = static_cast<std::uint64_t>(due.what.index());
  return std::visit(
      Overload{
          [&](due::Arrival const& d) {
            auto const name = names.find(d.connection);
            return std::vector{kind, name == names.end() ? 0 : name->second,
                               std::uint64_t{d.at == Side::callee}};
          },
          [&](due::OwnLetter const& d) {
            return std::vector{kind, std::uint64_t{d.process.value}, std::uint64_t{d.to_host}};
          },
          [&](due::Notice const& d) {
            return std::vector{kind, std::uint64_t{d.process.value}};
          },
          [&]<class D>(D const& d) {
            std::uint64_t whose = 0;
            if constexpr (requires { d.process; }) whose = d.process.value;
            return std::vector{kind, whose, due.number};
          },
      },
      due.what);
}

class Explorer {
 public:
  Explorer(Plan const& plan, Bounds const& bounds, Twist const* twist)
      : plan_(plan), bounds_(bounds), twist_(twist) {}

  Exploration run() {
    World world(1, plan_, Telling::nothing, twist_);
    enter(std::move(world), {});
    while (!stack_.empty() && result_.violations.empty()) {
      if (result_.states >= bounds_.states) return std::move(result_);
      auto& frame = stack_.back();
      if (frame.next == frame.choices.size()) {
        stack_.pop_back();
        continue;
      }
      follow(frame, frame.choices[frame.next++]);
    }
    result_.complete = result_.violations.empty();
    return std::move(result_);
  }

 private:
  void follow(Frame& frame, Choice const& choice) {
    auto const last = frame.next == frame.choices.size();
    auto world = last ? std::move(frame.world) : frame.world;
    take(world, choice);
    ++result_.steps;
    if (!world.checker.violations.empty()) {
      result_.violations = world.checker.violations;
      return tell();
    }
    auto used = frame.used;
    if (choice.number == 0) ++used.strikes;
    if (choice.early) ++used.early;
    if (choice.detour) ++used.detours;
    enter(std::move(world), used);
  }

  void take(World& world, Choice const& choice) const {
    if (choice.number == 0) {
      world.strike(bounds_.faults[choice.fault]);
      if (bounds_.heal_after > Duration::zero()) world.agenda.plan(bounds_.heal_after, due::Heal{});
    } else {
      world.happen(world.agenda.take_number(choice.number));
    }
    world.drop_stale();
  }

  void enter(World world, Used used) {
    auto digest = digest_of(world);
    digest.high += (std::uint64_t{used.strikes} << 8 | used.early) * 0x9E3779B97F4A7C15ULL;
    auto const detours = bounds_.detours == kEveryOrder ? 0 : used.detours;
    auto const [seen, is_new] = seen_.emplace(digest, detours);
    if (is_new)
      ++result_.states;
    else if (seen->second <= detours)
      return;
    seen->second = detours;
    if (world.agenda.empty() || world.everybody_ended() || world.elapsed() > world.last_moment()) {
      ++result_.ends;
      world.checker.check_end(world);
      result_.violations = world.checker.violations;
      if (!result_.violations.empty()) tell();
      return;
    }
    Frame frame{std::move(world), {}, 0, used};
    frame.choices = choices(frame);
    stack_.push_back(std::move(frame));
    result_.deepest = std::max(result_.deepest, stack_.size());
  }

  // In an order that the state gives, so that a detour is one whatever led here.
  std::vector<Choice> choices(Frame const& frame) {
    std::vector<Choice> choices;
    auto const& used = frame.used;
    auto const channels = channels_of(frame.world, names_of_connections(frame.world));
    auto const now = frame.world.moment();
    auto first = TimePoint::max(), later = TimePoint::max();
    for (auto const& channel : channels) {
      auto const at = std::max(channel.due.front()->at, now);
      first = std::min(first, at);
      if (at > now) later = std::min(later, at);
    }
    for (auto const& channel : channels) {
      auto const& due = *channel.due.front();
      auto const at = std::max(due.at, now);
      if (at == first) choices.push_back({due.number, 0, false, true});
      if (first == now && at == later && used.early < bounds_.early_timers)
        choices.push_back({due.number, 0, true, true});
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](Choice const& a, Choice const& b) { return a.early < b.early; });
    if (!choices.empty()) choices.front().detour = false;
    if (choices.size() > 1 && used.detours >= bounds_.detours) {
      result_.cut = true;
      choices.resize(1);
    }
    if (used.strikes < bounds_.strikes)
      for (std::size_t i = 0; i < bounds_.faults.size(); ++i)
        choices.push_back({0, i, false, false});
    return choices;
  }

  // The same history once more, aloud.
  void tell() {
    World world(1, plan_, Telling::everything, twist_);
    for (auto const& frame : stack_) take(world, frame.choices[frame.next - 1]);
    result_.story = world.story;
    for (auto const& violation : result_.violations)
      result_.story.push_back("VIOLATION of " + to_text(violation));
  }

  Plan const& plan_;
  Bounds const& bounds_;
  Twist const* twist_;
  Exploration result_;
  std::vector<Frame> stack_;
  std::unordered_map<Digest, std::uint32_t, DigestHash> seen_;  // with how many detours
};

}  // namespace

ConnectionNames names_of_connections(World const& world) {
  ConnectionNames names;
  std::uint64_t nth = 0;
  ProcessId caller;
  for (auto const& [id, connection] : world.network.connections()) {
    nth = id.caller == caller ? nth + 1 : 1;
    caller = id.caller;
    names.emplace(id, std::uint64_t{id.caller.value} << 32 | nth);
  }
  return names;
}

std::vector<Channel> channels_of(World const& world, ConnectionNames const& names) {
  std::map<std::vector<std::uint64_t>, std::vector<Due const*>> channels;
  for (auto const& due : world.agenda.pending()) channels[channel_of(due, names)].push_back(&due);
  std::vector<Channel> all;
  for (auto& [place, due] : channels) {
    std::sort(due.begin(), due.end(),
              [](auto const* a, auto const* b) { return a->number < b->number; });
    // A number says when something was planned, which is past.
    auto const alone = !std::holds_alternative<due::Arrival>(due.front()->what) &&
                       !std::holds_alternative<due::OwnLetter>(due.front()->what) &&
                       !std::holds_alternative<due::Notice>(due.front()->what);
    all.push_back({alone ? std::vector{place.front()} : place, std::move(due)});
  }
  return all;
}

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
