// SPDX-License-Identifier: Apache-2.0
// Plans made from a seed.

#include "rendezvous/sim/plan.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

Duration milliseconds(std::uint64_t count) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(count)};
}

// Draws the faults of one history.
class Swarm {
 public:
  Swarm(Random& random, Plan& plan) : random_(random), plan_(plan) {}

  void draw() {
    auto const kinds = random_.next();  // which kinds this history knows
    auto const busy = random_.below(3) == 0;
    latest_ = milliseconds(busy ? 30'000 : 10'000);
    auto const budget = random_.below(busy ? 24 : 6);
    for (std::uint64_t i = 0; i < budget; ++i) one(kinds);
    std::stable_sort(plan_.faults.begin(), plan_.faults.end(),
                     [](auto const& a, auto const& b) { return a.at < b.at; });
  }

  // Half of the histories know faults of this kind.
  void draw_moments() {
    if (random_.below(2) == 0) return;
    for (auto count = 1 + random_.below(2); count > 0; --count) one_at_a_moment();
  }

 private:
  bool knows(std::uint64_t kinds, int kind) const { return ((kinds >> kind) & 1) != 0; }
  NodeIndex all_nodes() const { return plan_.nodes + (plan_.daemon ? 1 : 0); }
  NodeIndex node() { return static_cast<NodeIndex>(random_.below(plan_.nodes)); }
  NodeIndex any_node() { return static_cast<NodeIndex>(random_.below(all_nodes())); }
  Duration moment() {
    return 500ms + Duration{static_cast<std::int64_t>(
                       random_.below(static_cast<std::uint64_t>(latest_.count())))};
  }
  Duration length() {
    return milliseconds(random_.below(2) == 0 ? random_.below(3'500) : random_.below(12'000));
  }
  void add(Duration at, Fault what) { plan_.faults.push_back({at, std::move(what)}); }

  void one(std::uint64_t kinds) {
    auto const at = moment();
    auto const kind = static_cast<int>(random_.below(10));
    if (!knows(kinds, kind)) return;
    switch (kind) {
      case 0:
        return divide(at);
      case 1: {
        auto const from = any_node();
        NodeGroup others;
        for (NodeIndex i = 0; i < all_nodes(); ++i)
          if (i != from && random_.below(3) != 0) others.push_back(i);
        if (random_.below(2) == 0)
          add(at, fault::OneWay{{from}, others});
        else
          add(at, fault::OneWay{others, {from}});
        return add(at + length(), fault::Heal{});
      }
      case 2:
        return add(at, fault::Break{any_node(), any_node()});
      case 3:
        return add(at, fault::Pause{any_node(), length()});
      case 4:
        return add(at, fault::Freeze{any_node(), length()});
      case 5:
        return go_and_come_back(at, any_node(), fault::PowerLoss{});
      case 6:
        return go_and_come_back(at, any_node(), fault::Kill{0, random_.below(4) == 0});
      case 7:
        return add(at, fault::Terminate{node()});
      case 8:
        return add(at, fault::FailWorker{node(), 3});
      default:
        return random_.below(4) == 0
                   ? add(at, fault::Stick{node()})
                   : add(at, fault::Late{node(), milliseconds(random_.below(600))});
    }
  }

  void one_at_a_moment() {
    MomentFault fault;
    fault.when = static_cast<Moment>(random_.below(5));
    fault.nth =
        static_cast<std::uint32_t>(1 + random_.below(fault.when == Moment::prepared ? 6 : 3));
    fault.undone_after = length();
    // Whoever hosts at first, or anybody.
    auto const who = random_.below(2) == 0 ? any_node() : plan_.daemon ? plan_.nodes : 0;
    switch (random_.below(6)) {
      case 0:
        fault.what = fault::PowerLoss{who};
        break;
      case 1:
        fault.what = fault::Kill{who, random_.below(2) == 0};
        break;
      case 2:
        fault.what = fault::Pause{who, fault.undone_after};
        break;
      case 3:
        fault.what = fault::Freeze{who, fault.undone_after};
        break;
      default: {
        NodeGroup one;
        for (NodeIndex i = 0; i < all_nodes(); ++i)
          if (random_.below(2) == 0) one.push_back(i);
        fault.what = fault::Partition{{one}};
        fault.undoing = fault::Heal{};
      }
    }
    auto const is_gone = std::holds_alternative<fault::PowerLoss>(fault.what) ||
                         std::holds_alternative<fault::Kill>(fault.what);
    if (is_gone && random_.below(2) == 0) fault.undoing = fault::Start{who};
    plan_.at_moments.push_back(std::move(fault));
  }

  void divide(Duration at) {
    NodeGroup one, other;
    for (NodeIndex i = 0; i < all_nodes(); ++i) (random_.below(2) == 0 ? one : other).push_back(i);
    if (one.empty() || other.empty()) return;
    add(at, fault::Partition{{one, other}});
    add(at + length(), fault::Heal{});
  }

  template <class Going>
  void go_and_come_back(Duration at, NodeIndex node, Going going) {
    going.node = node;
    add(at, going);
    if (random_.below(2) == 0) add(at + length(), fault::Start{node});
  }

  Random& random_;
  Plan& plan_;
  Duration latest_{};
};

void draw_job(Random& random, Plan& plan) {
  plan.nodes = static_cast<std::uint32_t>(2 + random.below(random.below(4) == 0 ? 9 : 5));
  if (random.below(200) == 0) plan.nodes = 34;  // more than vote
  plan.daemon = random.below(4) == 0;
  auto const most = random.below(4) == 0 ? std::max(1u, plan.nodes - 1) : plan.nodes;
  auto const least =
      random.below(3) == 0 ? most : static_cast<std::uint32_t>(1 + random.below(most));
  plan.job = usual_job(least, most);
  plan.job.max_restarts = static_cast<std::uint32_t>(random.below(4));
  if (random.below(10) == 0 && !plan.daemon) {  // static
    plan.job.given_ranks = plan.job.store_at_endpoint = true;
    plan.job.succession = false;
    plan.job.min_nodes = plan.job.max_nodes = plan.nodes;
  }
}

}  // namespace

membership::JobSettings usual_job(std::uint32_t min_nodes, std::uint32_t max_nodes) {
  membership::JobSettings job;
  job.min_nodes = min_nodes;
  job.max_nodes = max_nodes;
  job.max_restarts = 3;
  job.join_timeout = 30s;
  job.dead_at_min = 20s;
  job.scale_interval = 4s;
  return job;
}

Plan random_plan(std::uint64_t seed) {
  Random random(seed ^ 0x9d1a5);
  Plan plan;
  draw_job(random, plan);
  plan.script.failure = random.below(2) == 0 ? 0.2 * random.unit() : 0;
  plan.script.needs_peers = random.below(3) != 0;
  plan.script.most_work = milliseconds(2'000 + random.below(random.below(2) == 0 ? 8'000 : 30'000));
  plan.script.least_work = plan.script.most_work / 2;
  plan.spread = milliseconds(random.below(3) == 0 ? random.below(6'000) : random.below(500));
  plan.weather.most_delay = milliseconds(1 + random.below(random.below(2) == 0 ? 4 : 200));
  if (random.below(3) == 0) plan.weather.loss = 0.05 * random.unit();
  if (random.below(3) == 0) plan.weather.breaks_per_second = 0.2 * random.unit();
  plan.jitter = milliseconds(1 + random.below(random.below(2) == 0 ? 5 : 50));
  plan.drift = 200e-6 * random.unit();
  plan.guardian_ends_agent = random.below(2) == 0;
  plan.through_codec = random.below(50) == 0;
  Swarm(random, plan).draw();
  auto calm = Duration{14s};
  for (auto const& fault : plan.faults) calm = std::max(calm, fault.at + length_of(fault.what));
  for (NodeIndex i = 0; i < plan.nodes + (plan.daemon ? 1 : 0); ++i)
    plan.faults.push_back({calm, fault::Late{i, Duration::zero()}});
  plan.faults.push_back({calm, fault::Heal{}});
  plan.faults.push_back({calm, fault::Weather{5ms, 0, 0}});
  plan.calm_after = calm;
  Random moments(seed ^ 0x51ab7);  // of its own: the history without them stays what it was
  Swarm(moments, plan).draw_moments();
  return plan;
}

}  // namespace muster::sim
