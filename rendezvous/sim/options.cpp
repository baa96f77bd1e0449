// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/sim/options.hpp"

#include "rendezvous/sim/fault_file.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace muster::sim {
namespace {

struct Given {
  std::uint32_t nodes = 0, min_nodes = 0, max_nodes = 0, max_restarts = 3;
  double seconds = 10;
  bool daemon = false;
  std::string faults;
};

int say(Error const& error) {
  std::fprintf(stderr, "muster simulate: %s\n", to_string(error).c_str());
  return 2;
}

Result<std::string> contents_of(std::string const& path) {
  std::ifstream file(path);
  std::ostringstream text;
  auto const is_empty = file && file.peek() == std::ifstream::traits_type::eof() && !file.bad();
  if (!is_empty && (!file || !(text << file.rdbuf())))
    return Error{Errc::not_found, "cannot read the fault file " + path, "give a readable file"};
  return text.str();
}

// Agents whose first line is `start` begin there.
std::vector<NodeIndex> late_nodes(std::vector<TimedFault> const& faults) {
  std::vector<NodeIndex> late;
  std::vector<NodeIndex> touched;
  auto const note = [](std::vector<NodeIndex>& list, NodeIndex node) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  };
  for (auto const& fault : faults) {
    auto const* start = std::get_if<fault::Start>(&fault.what);
    auto const* power = std::get_if<fault::PowerLoss>(&fault.what);
    auto const* kill = std::get_if<fault::Kill>(&fault.what);
    if (power) note(touched, power->node);
    if (kill) note(touched, kill->node);
    if (!start) continue;
    if (std::find(touched.begin(), touched.end(), start->node) == touched.end())
      note(late, start->node);
    note(touched, start->node);
  }
  return late;
}

Result<Plan> plan_of(Given const& given) {
  Plan plan;
  plan.nodes = given.nodes;
  plan.daemon = given.daemon;
  auto const max = given.max_nodes > 0 ? given.max_nodes : given.nodes;
  auto const min = given.min_nodes > 0 ? given.min_nodes : max;
  if (min > max || min > given.nodes)
    return Error{Errc::bad_input,
                 "--min " + std::to_string(min) + " does not fit " + std::to_string(given.nodes) +
                     " nodes, at most " + std::to_string(max) + " in a round",
                 "give --min <= --max and --min <= --nodes"};
  plan.job = membership::JobSettings{};
  plan.job.min_nodes = min;
  plan.job.max_nodes = max;
  plan.job.max_restarts = given.max_restarts;
  plan.job.join_timeout = std::chrono::seconds{60};
  plan.script.least_work = plan.script.most_work =
      Duration{static_cast<std::int64_t>(given.seconds * 1e9)};
  if (given.faults.empty()) return plan;
  MUSTER_TRY(auto const text, contents_of(given.faults));
  auto faults = parse_faults(text, given.nodes + (given.daemon ? 1 : 0));
  if (!faults) {
    auto error = faults.error();
    error.what = given.faults + ", " + error.what;
    return error;
  }
  plan.faults = *std::move(faults);
  plan.late = late_nodes(plan.faults);
  return plan;
}

}  // namespace

std::variant<Options, Exit> parse(int argc, char** argv) {
  Options options;
  Given given;
  CLI::App app{
      "Plays histories of a job's rendezvous: the real cores of agents and host, under virtual "
      "time, with made-up machines and network. The same seed gives the same history. Exit code "
      "1: an invariant broke.",
      "muster simulate"};
  app.add_option("--seed", options.seed, "of the history")->capture_default_str();
  app.add_option("--seeds", options.seeds, "play so many, from --seed on, and sum them up")
      ->capture_default_str();
  app.add_option("--nodes", given.nodes,
                 "with agents, h1 to hN; without this option job, network and faults are drawn "
                 "from the seed, as in the tests")
      ->check(CLI::Range(1, 1'000));
  app.add_option("--min", given.min_nodes, "nodes that a round needs (default: as --max)");
  app.add_option("--max", given.max_nodes, "nodes that a round takes (default: as --nodes)");
  app.add_option("--max-restarts", given.max_restarts, "worker failures that are forgiven")
      ->capture_default_str();
  app.add_option("--seconds", given.seconds, "how long the script runs undisturbed")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("--daemon", given.daemon, "a stand-alone daemon hosts, on one more node");
  app.add_option("--faults", given.faults,
                 "a file of faults, one a line: 5.0 partition h1,h2 | h3; 7 heal; 8 pause h2 2s; "
                 "9 power h1; 10 kill h3 agent; 11 start h4; also oneway, break, weather, freeze, "
                 "late, term, fail, stick, finish");
  app.add_flag("--trace", options.trace, "tell every message, too");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return Exit{app.exit(error)};
    return Exit{say({Errc::bad_input, error.what(), "muster simulate --help lists the options"})};
  }
  options.drawn = given.nodes == 0;
  if (options.drawn) {
    if (app.count("--faults") + app.count("--min") + app.count("--max") + app.count("--daemon") +
            app.count("--max-restarts") + app.count("--seconds") >
        0)
      return Exit{say({Errc::bad_input, "a job is described, but not its nodes", "give --nodes"})};
    return options;
  }
  auto plan = plan_of(given);
  if (!plan) return Exit{say(plan.error())};
  options.plan = *std::move(plan);
  return options;
}

Plan plan_for(Options const& options, std::uint64_t seed) {
  return options.drawn ? random_plan(seed) : options.plan;
}

}  // namespace muster::sim
