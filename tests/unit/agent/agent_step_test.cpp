// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent_step.hpp"

#include <catch2/catch.hpp>

#include <csignal>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

using Effects = std::vector<agent::Effect>;

// One agent of two workers, and a clock that only moves when told.
struct Story {
  AgentState state;
  AgentSettings settings;
  TimePoint now{100s};

  Story() {
    settings.workers = 2;
    settings.signals_to_handle = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  }

  Effects step(agent::Event event) { return agent_step(state, std::move(event), now, settings); }
  Effects round(std::uint64_t number) {
    RoundView view;
    view.round = RoundNumber{number};
    return step(agent::RoundCommitted{view});
  }
  Effects ended(int local_rank, ExitStatus status = {}) {
    return step(agent::WorkerEnded{local_rank, status});
  }
  Effects signal(int number) { return step(agent::SignalCame{number, 0}); }
};

template <class E>
std::optional<E> first(Effects const& effects) {
  for (auto const& effect : effects)
    if (auto const* found = std::get_if<E>(&effect)) return *found;
  return std::nullopt;
}

template <class E>
bool has(Effects const& effects) {
  return first<E>(effects).has_value();
}

}  // namespace

TEST_CASE("a committed round starts the workers", "[agent]") {
  Story story;
  CHECK(story.round(1) == Effects{agent::StartWorkers{}});
  CHECK(story.state.phase == AgentPhase::running);
}

TEST_CASE("all exited 0: the round is done, and the outcome ends the agent", "[agent]") {
  Story story;
  story.round(1);
  CHECK(story.ended(0).empty());
  CHECK(story.ended(1).empty());
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::ReportDone{}});
  CHECK(story.state.phase == AgentPhase::finished);
  CHECK(story.step(agent::OutcomeTold{true, 0, ""}) == Effects{agent::Exit{0}});
}

TEST_CASE("an agent that never hears the outcome does not exit", "[agent]") {
  Story story;
  story.round(1);
  story.ended(0);
  story.ended(1);
  story.step(agent::GroupReleased{});
  story.now += 10h;
  CHECK(story.step(agent::Tick{}).empty());
}

TEST_CASE("the first failure stops the others, and is reported when they are down", "[agent]") {
  Story story;
  story.round(1);
  auto const at = story.now;
  CHECK(story.ended(1, ExitStatus{7, 0}) ==
        Effects{agent::StopWorkers{SIGTERM, 30s}, agent::WakeAt{at + 100ms}});
  story.now += 3ms;
  CHECK(!has<agent::ReportFailure>(story.ended(0, ExitStatus{0, SIGTERM})));
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::ReportFailure{7, false, at}});
  CHECK(story.state.ends[0].by_launcher == false);
  CHECK(story.state.ends[1].by_launcher == true);
  // The host then asks everybody to stop, which is done already.
  CHECK(story.step(agent::StopOrdered{RoundNumber{1}, std::nullopt, ""}) ==
        Effects{agent::ReportStopped{RoundNumber{1}}});
  CHECK(story.round(2) == Effects{agent::StartWorkers{}});
  CHECK(story.state.ends.empty());
}

TEST_CASE("a failure is reported after the hold even if others do not die", "[agent]") {
  Story story;
  story.round(1);
  story.ended(1, ExitStatus{0, SIGSEGV});
  story.now += 100ms;
  auto const effects = story.step(agent::Tick{});
  CHECK(first<agent::ReportFailure>(effects)->exit_code == 128 + SIGSEGV);
  CHECK(story.step(agent::StopOrdered{RoundNumber{1}, std::nullopt, ""}).empty());
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::ReportStopped{RoundNumber{1}}});
}

TEST_CASE("a worker that only lost a peer is no cause while there is another one", "[agent]") {
  Story story;
  story.round(1);
  story.ended(0, ExitStatus{89, 0});
  story.ended(1, ExitStatus{0, SIGSEGV});
  auto const report = first<agent::ReportFailure>(story.step(agent::GroupReleased{}));
  REQUIRE(report);
  CHECK(report->exit_code == 128 + SIGSEGV);
  CHECK(!report->is_consequence);
}

TEST_CASE("a rank killed by somebody else is the cause, also if its peer's end is seen first",
          "[agent]") {
  Story story;
  story.round(1);
  CHECK(has<agent::StopWorkers>(story.ended(0, ExitStatus{89, 0})));
  story.now += 2ms;
  story.ended(1, ExitStatus{0, SIGKILL});
  auto const report = first<agent::ReportFailure>(story.step(agent::GroupReleased{}));
  REQUIRE(report);
  CHECK(report->exit_code == 128 + SIGKILL);
  CHECK(!report->is_consequence);
}

TEST_CASE("a rank that we killed after the grace is no cause", "[agent]") {
  Story story;
  story.round(1);
  story.ended(0, ExitStatus{89, 0});
  story.now += 30s;
  story.ended(1, ExitStatus{0, SIGKILL});
  CHECK(story.state.ends[1].by_launcher);
}

TEST_CASE("peers lost and nothing else is reported as a consequence", "[agent]") {
  Story story;
  story.round(1);
  story.ended(0, ExitStatus{89, 0});
  story.ended(1, ExitStatus{0, SIGTERM});
  auto const report = first<agent::ReportFailure>(story.step(agent::GroupReleased{}));
  REQUIRE(report);
  CHECK(report->exit_code == 89);
  CHECK(report->is_consequence);
}

TEST_CASE("an ordered stop ends the workers with its grace and is answered once", "[agent]") {
  Story story;
  story.round(4);
  CHECK(story.step(agent::StopOrdered{RoundNumber{4}, 3s, "node b lost"}) ==
        Effects{agent::StopWorkers{SIGTERM, 3s}});
  story.ended(0, ExitStatus{0, SIGTERM});
  story.ended(1, ExitStatus{1, 0});  // after our signal: no failure of the round
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::ReportStopped{RoundNumber{4}}});
  CHECK(story.step(agent::GroupReleased{}).empty());
}

TEST_CASE("a stop without grace kills, also in the middle of a polite one", "[agent]") {
  Story story;
  story.round(1);
  story.step(agent::StopOrdered{RoundNumber{1}, std::nullopt, ""});
  CHECK(story.step(agent::StopOrdered{RoundNumber{1}, 0s, "fenced"}) ==
        Effects{agent::KillWorkers{}});
}

TEST_CASE("a stop of a round that is not ours is answered and touches nobody", "[agent]") {
  Story story;
  CHECK(story.step(agent::StopOrdered{RoundNumber{3}, std::nullopt, ""}) ==
        Effects{agent::ReportStopped{RoundNumber{3}}});
  story.round(5);
  CHECK(story.step(agent::StopOrdered{RoundNumber{4}, std::nullopt, ""}) ==
        Effects{agent::ReportStopped{RoundNumber{4}}});
  CHECK(story.state.phase == AgentPhase::running);
}

TEST_CASE("a finished node takes part in the next round when another one failed", "[agent]") {
  Story story;
  story.round(1);
  story.step(agent::GroupReleased{});
  CHECK(story.step(agent::StopOrdered{RoundNumber{1}, std::nullopt, ""}) ==
        Effects{agent::ReportStopped{RoundNumber{1}}});
  CHECK(story.round(2) == Effects{agent::StartWorkers{}});
}

TEST_CASE("SIGTERM is passed on, the job is left, and the exit code is 143", "[agent]") {
  Story story;
  story.round(1);
  auto const effects = story.signal(SIGTERM);
  CHECK(first<agent::Leave>(effects)->exit_code == 143);
  CHECK(first<agent::StopWorkers>(effects) == agent::StopWorkers{SIGTERM, 30s});
  CHECK(story.signal(SIGTERM).empty());  // Slurm repeats it
  story.ended(0, ExitStatus{0, SIGTERM});
  CHECK(first<agent::WakeAt>(story.step(agent::GroupReleased{})));
  CHECK(story.step(agent::OutcomeTold{false, 143, ""}) == Effects{agent::Exit{143}});
}

TEST_CASE("HUP and QUIT reach the workers as TERM", "[agent]") {
  for (int const number : {SIGHUP, SIGQUIT}) {
    Story story;
    story.round(1);
    CHECK(first<agent::StopWorkers>(story.signal(number))->signal == SIGTERM);
  }
}

TEST_CASE("the outcome may come before the workers are gone, and is not waited for twice",
          "[agent]") {
  Story story;
  story.round(1);
  story.signal(SIGTERM);
  CHECK(story.step(agent::OutcomeTold{false, 1, ""}).empty());
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::Exit{143}});
}

TEST_CASE("a host that does not answer a leave is waited for 5 s, not for ever", "[agent]") {
  Story story;
  story.round(1);
  story.signal(SIGINT);
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::WakeAt{story.now + 5s}});
  story.now += 5s;
  CHECK(story.step(agent::Tick{}) == Effects{agent::Exit{130}});
}

TEST_CASE("without workers yet an interrupt is obeyed within a second", "[agent]") {
  Story story;
  auto const effects = story.signal(SIGINT);
  CHECK(has<agent::Leave>(effects));
  CHECK(first<agent::WakeAt>(effects)->at == story.now + 1s);
  story.now += 1s;
  CHECK(story.step(agent::Tick{}) == Effects{agent::Exit{130}});
}

TEST_CASE("only a second SIGINT escalates", "[agent]") {
  Story story;
  story.round(1);
  CHECK(first<agent::StopWorkers>(story.signal(SIGINT))->signal == SIGINT);
  CHECK(!has<agent::KillWorkers>(story.signal(SIGTERM)));
  CHECK(has<agent::KillWorkers>(story.signal(SIGINT)));
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::Exit{130}});
}

TEST_CASE("a second SIGINT while waiting for the outcome exits at once", "[agent]") {
  Story story;
  story.signal(SIGINT);
  CHECK(story.signal(SIGINT) == Effects{agent::Exit{130}});
}

TEST_CASE("a deadly signal that is not to be handled kills the workers", "[agent]") {
  Story story;
  story.settings.signals_to_handle = {SIGTERM};
  story.round(1);
  auto const effects = story.signal(SIGHUP);
  CHECK(has<agent::KillWorkers>(effects));
  CHECK(first<agent::Leave>(effects)->exit_code == 128 + SIGHUP);
}

TEST_CASE("USR1 is passed on and stops nobody, unless it is to be handled", "[agent]") {
  Story story;
  story.round(1);
  CHECK(story.signal(SIGUSR1) == Effects{agent::SignalWorkers{SIGUSR1}});
  story.settings.signals_to_handle.insert(SIGUSR1);
  CHECK(first<agent::StopWorkers>(story.signal(SIGUSR1))->signal == SIGUSR1);
}

TEST_CASE("Ctrl-Z stops a job of one node and is refused with several", "[agent]") {
  Story story;
  story.round(1);
  CHECK(story.signal(SIGTSTP) == Effects{agent::Freeze{}});
  CHECK(story.signal(SIGCONT) == Effects{agent::Thaw{}});
  story.settings.single_node = false;
  auto const refused = story.signal(SIGTSTP);
  CHECK(has<agent::Say>(refused));
  CHECK(!has<agent::Freeze>(refused));
}

TEST_CASE("a worker that cannot be started ends the job with its code", "[agent]") {
  Story story;
  story.round(1);
  auto const effects = story.step(agent::StartFailed{127, "cannot run 'x'"});
  CHECK(effects == Effects{agent::Say{"cannot run 'x'"}, agent::Leave{127, "cannot run 'x'"},
                           agent::KillWorkers{}});
  story.step(agent::GroupReleased{});
  CHECK(story.step(agent::OutcomeTold{false, 127, ""}) == Effects{agent::Exit{127}});
}

TEST_CASE("output that nobody takes stops the workers, where that was asked for", "[agent]") {
  Story story;
  story.round(1);
  auto const effects = story.step(agent::OutputStalled{"log file 'a' takes no more output"});
  auto const why = "log file 'a' takes no more output, and --log-stall=stop was given";
  CHECK(first<agent::Leave>(effects) == agent::Leave{1, why});
  CHECK(first<agent::StopWorkers>(effects) == agent::StopWorkers{SIGTERM, story.settings.grace});
  CHECK(story.step(agent::OutputStalled{"log file 'b' takes no more output"}).empty());
  story.step(agent::GroupReleased{});
  CHECK(story.step(agent::OutcomeTold{false, 1, ""}) == Effects{agent::Exit{1}});
}

TEST_CASE("a start that fails after its round was stopped is nobody's failure", "[agent]") {
  Story story;
  story.round(1);
  story.step(agent::StopOrdered{RoundNumber{1}, {}, "the world changes"});
  story.step(agent::GroupReleased{});
  CHECK(story.step(agent::StartFailed{1, "no such folder"}).empty());
  CHECK(has<agent::StartWorkers>(story.round(2)));
}

TEST_CASE("a broken link stops the workers politely, a fence kills them", "[agent]") {
  Story story;
  story.round(1);
  CHECK(has<agent::StopWorkers>(story.step(agent::LinkFailed{83, false, "host gone"})));
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::Exit{83}});
  Story fenced;
  fenced.round(1);
  CHECK(has<agent::KillWorkers>(fenced.step(agent::LinkFailed{90, true, "no lease"})));
  CHECK(fenced.step(agent::GroupReleased{}) == Effects{agent::Exit{90}});
}

TEST_CASE("the guardian's death kills the workers and needs no outcome", "[agent]") {
  Story story;
  story.round(1);
  auto const effects = story.step(agent::GuardianGone{});
  CHECK(has<agent::KillWorkers>(effects));
  CHECK(has<agent::Leave>(effects));
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::Exit{137}});
}

TEST_CASE("workers that the guardian ended while we did not run have not failed", "[agent]") {
  Story story;
  story.round(3);
  CHECK(story.step(agent::Fenced{}) == Effects{agent::KillWorkers{}});
  CHECK(story.ended(0, ExitStatus{0, SIGKILL}).empty());
  CHECK(story.ended(1, ExitStatus{0, SIGKILL}).empty());
  CHECK(story.state.ends[0].by_launcher);
  CHECK(story.state.ends[1].by_launcher);
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::ReportFenced{RoundNumber{3}}});
  CHECK(story.round(4) == Effects{agent::StartWorkers{}});
  // Of the next round a SIGKILL is a failure again.
  CHECK(has<agent::StopWorkers>(story.ended(0, ExitStatus{0, SIGKILL})));
  CHECK(first<agent::ReportFailure>(story.step(agent::GroupReleased{}))->exit_code == 137);
}

TEST_CASE("a failure before the fence is still reported, as what it was", "[agent]") {
  Story story;
  story.round(1);
  story.ended(0, ExitStatus{7, 0});
  story.step(agent::Fenced{});
  story.ended(1, ExitStatus{0, SIGKILL});
  CHECK(story.state.ends[1].by_launcher);
  auto const effects = story.step(agent::GroupReleased{});
  CHECK(first<agent::ReportFailure>(effects)->exit_code == 7);
  CHECK(!has<agent::ReportFenced>(effects));
}

TEST_CASE("a fence finds an ordered stop under way, or nobody, and adds nothing", "[agent]") {
  Story stopping;
  stopping.round(1);
  stopping.step(agent::StopOrdered{RoundNumber{1}, std::nullopt, ""});
  stopping.step(agent::Fenced{});
  stopping.ended(0, ExitStatus{0, SIGKILL});
  CHECK(stopping.state.ends[0].by_launcher);
  CHECK(stopping.step(agent::GroupReleased{}) == Effects{agent::ReportStopped{RoundNumber{1}}});
  Story idle;
  CHECK(idle.step(agent::Fenced{}).empty());
  Story leaving;
  leaving.round(1);
  leaving.signal(SIGTERM);
  leaving.step(agent::Fenced{});
  CHECK(!has<agent::ReportFenced>(leaving.step(agent::GroupReleased{})));
}

TEST_CASE("a lost job stops the workers that still run, then exits with its code", "[agent]") {
  Story story;
  story.round(1);
  CHECK(has<agent::StopWorkers>(story.step(agent::OutcomeTold{false, 82, "budget spent"})));
  CHECK(story.step(agent::GroupReleased{}) == Effects{agent::Exit{82}});
}

TEST_CASE("after the exit nothing follows", "[agent]") {
  Story story;
  story.step(agent::OutcomeTold{true, 0, ""});
  CHECK(story.state.phase == AgentPhase::over);
  CHECK(story.round(1).empty());
  CHECK(story.signal(SIGTERM).empty());
}

TEST_CASE("whatever else happens around a fence, its kills are nobody's failure", "[agent]") {
  // Every event before the fence, every one after it, both workers' ends around them. The shell
  // guarantees one thing: the fence is heard of before the ends that it caused.
  std::vector<agent::Event> const others{agent::Tick{},
                                         agent::StopOrdered{RoundNumber{1}, std::nullopt, ""},
                                         agent::StopOrdered{RoundNumber{1}, 0s, ""},
                                         agent::StopOrdered{RoundNumber{1}, 1s, ""},
                                         agent::SignalCame{SIGTERM, 0},
                                         agent::SignalCame{SIGUSR1, 0},
                                         agent::SignalCame{SIGCONT, 0},
                                         agent::LinkFailed{90, true, "no lease"},
                                         agent::LinkFailed{83, false, "host gone"},
                                         agent::OutcomeTold{false, 81, "lost"},
                                         agent::GuardianGone{},
                                         agent::Fenced{}};
  for (std::size_t before = 0; before < others.size(); ++before)
    for (std::size_t after = 0; after < others.size(); ++after)
      for (int place = 0; place < 3; ++place) {
        INFO("event " << before << " before, " << after << " after " << place << " ends");
        Story story;
        story.round(1);
        int reports = 0, fences = 0, stops = 0;
        auto const feed = [&](agent::Event const& event) {
          for (auto const& effect : story.step(event)) {
            reports += std::holds_alternative<agent::ReportFailure>(effect);
            fences += std::holds_alternative<agent::ReportFenced>(effect);
            stops += std::holds_alternative<agent::ReportStopped>(effect);
          }
          story.now += 60ms;
        };
        feed(others[before]);
        feed(agent::Fenced{});
        for (int i = 0; i < 3; ++i) {
          if (i == place) feed(others[after]);
          if (i < 2) feed(agent::WorkerEnded{i, ExitStatus{0, SIGKILL}});
        }
        for (auto const& end : story.state.ends) CHECK(end.by_launcher);
        feed(agent::GroupReleased{});
        CHECK(reports == 0);
        // Whoever orders the membership hears once of the workers' end, unless it is told otherwise
        // why this node leaves.
        if (story.state.departure)
          CHECK(fences == 0);
        else
          CHECK(fences + stops >= 1);
        CHECK(fences <= 1);
        CHECK(story.state.phase != AgentPhase::stopping);
      }
}

TEST_CASE("in any order of events the agent exits once it is told to, with no worker left",
          "[agent]") {
  // All sequences of four out of twelve events. What the shell guarantees is kept: GroupReleased
  // follows each stop, and comes only while workers run.
  constexpr int kKinds = 12;
  auto const event_of = [](int kind) -> agent::Event {
    RoundView view;
    view.round = RoundNumber{1};
    switch (kind) {
      case 0:
        return agent::RoundCommitted{view};
      case 1:
        return agent::StopOrdered{RoundNumber{1}, std::nullopt, ""};
      case 2:
        return agent::StopOrdered{RoundNumber{1}, Duration::zero(), ""};
      case 3:
        return agent::LinkFailed{83, false, "link"};
      case 4:
        return agent::WorkerEnded{0, ExitStatus{3, 0}};
      case 5:
        return agent::GroupReleased{};
      case 6:
        return agent::StartFailed{127, "start"};
      case 7:
        return agent::SignalCame{SIGINT, 0};
      case 8:
        return agent::SignalCame{SIGTERM, 0};
      case 9:
        return agent::GuardianGone{};
      case 10:
        return agent::Fenced{};
      default:
        return agent::Tick{};
    }
  };
  for (int code = 0; code < kKinds * kKinds * kKinds * kKinds; ++code) {
    INFO("sequence " << code);
    Story story;
    bool workers = false;
    int exits = 0;
    auto const feed = [&](agent::Event event) {
      bool const of_workers = std::holds_alternative<agent::GroupReleased>(event) ||
                              std::holds_alternative<agent::WorkerEnded>(event) ||
                              std::holds_alternative<agent::StartFailed>(event);
      if (of_workers && !workers) return;
      if (std::holds_alternative<agent::GroupReleased>(event)) workers = false;
      for (auto const& effect : story.step(std::move(event))) {
        if (std::holds_alternative<agent::StartWorkers>(effect)) {
          REQUIRE(!workers);
          workers = true;
        }
        if (std::holds_alternative<agent::Exit>(effect)) {
          REQUIRE(!workers);
          ++exits;
        }
      }
    };
    for (int rest = code, i = 0; i < 4; ++i, rest /= kKinds) {
      feed(event_of(rest % kKinds));
      story.now += 60ms;
    }
    feed(agent::OutcomeTold{false, 1, ""});
    feed(agent::GroupReleased{});
    REQUIRE(exits == 1);
    REQUIRE(story.state.phase == AgentPhase::over);
  }
}
