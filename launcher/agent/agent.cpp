// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include "launcher/agent/messages.hpp"
#include "launcher/diagnose/summary.hpp"
#include "launcher/process/spawn.hpp"
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

// For making folders and opening files; for reading what a failed worker left.
constexpr Duration kDiskPatience = std::chrono::seconds{20};
constexpr Duration kReportPatience = std::chrono::seconds{2};

AgentSettings settings_of(AgentSetup const& setup) {
  auto const& options = setup.options;
  AgentSettings settings;
  settings.workers = setup.node.local_world_size;
  settings.grace = options.shutdown_timeout;
  settings.signals_to_handle.insert(options.signals_to_handle.begin(),
                                    options.signals_to_handle.end());
  settings.single_node = options.nodes_max == 1;
  return settings;
}

net::ControlSide side_of(AgentSetup const& setup) {
  net::ControlSide side(setup.host);
  side.run_id = setup.options.run_id;
  side.security = setup.security;
  return side;
}

// Whatever somebody may send to the agent itself; what was ignored when muster started stays so.
int open_signals(Inherited const& inherited) {
  sigset_t set;
  sigemptyset(&set);
  for (int const signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
    if (!inherited.is_ignored(signal)) sigaddset(&set, signal);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

Agent::Agent(asio::io_context& io, AgentSetup setup, MembershipLink& link, Pump& pump)
    : io_(io),
      kept_setup_(std::make_shared<AgentSetup const>(std::move(setup))),
      setup_(*kept_setup_),
      link_(link),
      pump_(pump),
      settings_(settings_of(setup_)),
      stores_(io, setup_.options, setup_.network.networks),
      disk_(io),
      signals_(io, open_signals(setup_.inherited)),
      guardian_(io, setup_.seat.channel),
      word_lines_(io, guardian_.last_word(), side_of(setup_)),
      timer_(io),
      word_(io) {}

Agent::~Agent() = default;

// One node alone has no lease to lose.
bool Agent::has_leases() const {
  return setup_.options.rendezvous != Rendezvous::local;
}

void Agent::start() {
  privilege_.take_files();
  if (has_leases()) privilege_.take_priority();
  watch_signals();
  watch_guardian();
  pump_.on_stall([this, &io = io_](std::string what) {
    asio::post(io, [this, what = std::move(what)] { feed(agent::OutputStalled{what}); });
  });
  link_.join(*this);
}

// While workers run the guardian is told again and again that we can be fenced by the membership.
// Should we be stopped, it ends them before the other nodes go on without us.
void Agent::reassure_guardian() {
  bool const has_workers =
      state_.phase == AgentPhase::running || state_.phase == AgentPhase::stopping;
  auto const silence = has_workers ? link_.silence() : Duration::zero();
  guardian_.alive(silence);
  if (silence == Duration::zero()) return;  // until the next round
  word_.expires_after(std::min<Duration>(silence / 5, std::chrono::seconds{1}));
  word_.async_wait([this](net::error_code failure) {
    if (!failure) reassure_guardian();
  });
}

// The guardian is told before a worker is in it.
void Agent::make_leaf() {
  leaf_.reset();  // removed before the next one is looked for
  leaf_ = CgroupLeaf::make(leaves_made_++);
  if (leaf_ && leaves_made_ == 1 && !leaf_->lets_live()) {
    log::warning(
        "workers get no cgroup of their own: that of muster was once killed as a whole "
        "(cgroup.kill), and this kernel kills whoever is born below it; who hides from "
        "muster's process tree is not found");
    leaf_.reset();
  }
  if (leaf_) guardian_.leaf(leaf_->path());
}

// What the membership says.

Result<std::uint16_t> Agent::open_store(StoreWish const& wish) {
  return stores_.open(wish);
}

void Agent::admit_to_store(StoreWish const& wish) {
  stores_.admit(wish);
}

void Agent::on_round(RoundView const& view) {
  stores_.close_before(view.round);
  feed(agent::RoundCommitted{view});
}

void Agent::on_last_words(LastWords const& words) {
  word_lines_.set(words);
}

void Agent::on_stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) {
  if (cause_.text.empty()) cause_ = {why, now(), false};
  feed(agent::StopOrdered{round, grace, why});
}

void Agent::on_pause() {
  if (group_) group_->signal(SIGSTOP);
}

void Agent::on_resume() {
  if (group_) group_->signal(SIGCONT);
}

void Agent::on_note(std::string const& text) {
  pump_.say("muster: " + text);
}

void Agent::on_outcome(Outcome const& outcome) {
  outcome_ = outcome;
  feed(agent::OutcomeTold{outcome.success, outcome.exit_code, outcome.why});
}

void Agent::on_error(Error const& error) {
  error_ = error;
  feed(agent::LinkFailed{exit_code_of(error.code), error.code == Errc::fenced, to_string(error)});
}

// One event at a time: what comes while effects are carried out waits for its turn.
void Agent::feed(agent::Event event) {
  events_.push_back(std::move(event));
  if (std::exchange(feeding_, true)) return;
  while (!events_.empty()) {
    auto const next = std::move(events_.front());
    events_.pop_front();
    for (auto const& effect : agent_step(state_, next, now(), settings_))
      std::visit([this](auto const& one) { carry_out(one); }, effect);
  }
  feeding_ = false;
}

// Workers.

// The disk is asked elsewhere. Should the round be stopped meanwhile, the group is released without
// having been started, and what comes from the disk is let go: of its errors, too, nobody is told.
void Agent::carry_out(agent::StartWorkers) {
  last_cause_ = std::exchange(cause_, {});
  new_group();
  auto const start = ++starts_;
  auto const files = std::make_shared<std::optional<Result<RoundFiles>>>();
  auto work = [files, setup = kept_setup_, folder = run_folder_, view = *state_.view] {
    files->emplace(make_round_files(*setup, folder, view));
  };
  auto done = [this, files, start](bool in_time) {
    if (in_time && **files && !run_folder_) run_folder_ = (**files)->run_folder;
    if (start != starts_ || state_.phase != AgentPhase::running) return;
    if (!in_time) return start_failed(disk_is_silent(setup_, kDiskPatience), 1);
    auto& made = **files;
    if (!made) return start_failed(made.error(), exit_code_of(made.error().code));
    start_group(*std::move(made));
  };
  disk_.run(std::move(work), std::move(done), kDiskPatience);
}

void Agent::start_group(RoundFiles files) {
  run_folder_ = std::move(files.run_folder);
  attempt_ = std::move(files.attempt);
  auto& ready = files.ready;
  if (leaf_)
    for (auto& command : ready.commands) command.cgroup = leaf_->folder();
  if (has_leases()) privilege_.before_start();
  group_->start(std::move(ready.commands));
  pump_.add(std::move(ready.streams));
}

void Agent::started(Result<void> const& result) {
  if (!result) return start_failed(result.error(), exit_code_of_spawn(result.error()));
  if (has_leases()) privilege_.after_start();
  if (state_.phase == AgentPhase::running) announce();
}

void Agent::start_failed(Error const& error, int exit_code) {
  error_ = error;
  feed(agent::StartFailed{exit_code, to_string(error)});
}

void Agent::new_group() {
  group_.reset();
  unclean_ = 0;
  if (leaves_made_ == 0 || (leaf_ && leaf_->is_spent())) make_leaf();
  WorkerGroup::Callbacks callbacks;
  callbacks.on_started = [this](Result<void> const& result) { started(result); };
  callbacks.on_ended = [this](int local_rank, ExitStatus status) {
    guardian_.read_now();  // it may have been the guardian's doing
    if (!status.success()) note_cause(local_rank, status);
    feed(agent::WorkerEnded{local_rank, status});
  };
  callbacks.on_released = [this](int unclean) {
    unclean_ = static_cast<std::uint32_t>(unclean);
    if (unclean > 0)
      pump_.say("muster: " + std::to_string(unclean) +
                " processes cannot be killed (state D: stuck in the kernel)");
    feed(agent::GroupReleased{});
  };
  group_ = std::make_unique<WorkerGroup>(io_, setup_.inherited, leaf_ ? &*leaf_ : nullptr,
                                         std::move(callbacks));
  reassure_guardian();
}

void Agent::announce() {
  auto const& view = *state_.view;
  if (!std::exchange(announced_, true)) {
    pump_.say(start_line(setup_, view, *run_folder_));
  } else {
    auto const since = last_cause_.text.empty() ? Duration::zero() : now() - last_cause_.at;
    pump_.say(restart_line(setup_, view, last_cause_.text, since));
  }
  announce_network();
}

// Once, and again when the way between the nodes has changed; its port changes with every round.
void Agent::announce_network() {
  auto const& view = *state_.view;
  auto way = view.network + view.interface + view.master_addr;
  if (way == announced_way_) return;
  announced_way_ = std::move(way);
  if (auto const line = network_line(view)) pump_.say(*line);
}

void Agent::note_cause(int local_rank, ExitStatus status) {
  if (ended_as_asked(state_, status, now())) return;
  // A rank that lost its peer may be seen before that peer, who then is the better cause.
  bool const follows = status.shell_code() == env::kExitPeerLost;
  bool const first = cause_.text.empty();
  if (!first && (follows || !cause_.is_follower)) return;
  auto const pid = group_->pid_of(local_rank);
  cause_ = {cause_line(*state_.view, local_rank, pid, status), first ? now() : cause_.at, follows};
}

void Agent::carry_out(agent::StopWorkers effect) {
  group_->stop(effect.signal, effect.grace);
}

void Agent::carry_out(agent::KillWorkers) {
  group_->kill();
}

void Agent::carry_out(agent::SignalWorkers effect) {
  group_->signal(effect.signal);
}

void Agent::carry_out(agent::Freeze) {
  if (group_) group_->signal(SIGSTOP);
  if (!guardian_.suspend()) carry_out(agent::Thaw{});  // nobody could continue us
}

void Agent::carry_out(agent::Thaw) {
  if (group_) group_->signal(SIGCONT);
}

// The link.

// What the workers wrote last is still in their pipes: the pump takes it first.
void Agent::carry_out(agent::ReportFailure effect) {
  report_pending_ = true;
  RoundEnds round{*state_.view, state_.ends, {}, attempt_->paths(), {}};
  for (int i = 0; i < settings_.workers; ++i) round.pids.push_back(group_->pid_of(i));
  pump_.collect_tails([this, &io = io_, effect, round = std::move(round)](Tails tails) mutable {
    round.tails = std::move(tails);
    asio::post(io, [this, effect, round = std::move(round)]() mutable {
      make_report(effect, std::move(round));
    });
  });
}

// What the workers left on the disk belongs to it, if the disk answers soon.
void Agent::make_report(agent::ReportFailure effect, RoundEnds ends) {
  auto const round = std::make_shared<RoundEnds const>(std::move(ends));
  auto const report = std::make_shared<NodeReport>();
  auto work = [report, round, setup = kept_setup_] { *report = make_node_report(*setup, *round); };
  auto done = [this, effect, report, round](bool in_time) {
    send_report(effect, in_time ? *report : make_bare_report(setup_, *round));
  };
  disk_.run(std::move(work), std::move(done), kReportPatience);
}

void Agent::send_report(agent::ReportFailure effect, NodeReport const& report) {
  WorkerFailure failure;
  failure.round = RoundNumber{report.round};
  failure.exit_code = cause_exit_code({report});
  failure.is_consequence = effect.is_consequence;
  failure.at_ns = effect.at.time_since_epoch().count();
  failure.report = to_json(report);
  link_.workers_failed(std::move(failure));
  release_link();
}

// Calls the link, in order, behind a report that is still being collected.
void Agent::tell(std::function<void()> call) {
  if (report_pending_)
    to_link_.push_back(std::move(call));
  else
    call();
}

void Agent::release_link() {
  report_pending_ = false;
  for (auto const& call : std::exchange(to_link_, {})) call();
}

void Agent::carry_out(agent::ReportDone) {
  pump_.end_round();
  link_.workers_done(state_.view->round);
}

void Agent::carry_out(agent::ReportStopped effect) {
  tell([this, effect] {
    pump_.end_round();
    link_.stopped(effect.round, unclean_);
  });
}

void Agent::carry_out(agent::ReportFenced effect) {
  tell([this, effect] {
    pump_.end_round();
    link_.workers_fenced(effect.round);
  });
}

void Agent::carry_out(agent::Leave const& effect) {
  left_ = true;
  // Told on the other nodes, where it must say who.
  auto why = "host " + setup_.host + ": " + effect.why;
  tell([this, code = effect.exit_code, said = std::move(why)] { link_.leave(code, said); });
}

void Agent::carry_out(agent::Say const& effect) {
  pump_.say("muster: " + effect.text);
}

void Agent::carry_out(agent::WakeAt effect) {
  timer_.expires_after(std::max(Duration::zero(), effect.at - now()));
  timer_.async_wait([this](net::error_code failure) {
    if (!failure) feed(agent::Tick{});
  });
}

void Agent::carry_out(agent::Exit effect) {
  exit_code_ = effect.exit_code;
  stores_.close_all();
  guardian_.alive(Duration::zero());   // what is left, the console above all, may take its time
  if (outcome_) guardian_.finished();  // who was told of the job's end needs no proof of ours
  io_.stop();
}

// Signals and the guardian.

void Agent::watch_signals() {
  auto const on_readable = [this](net::error_code failure) {
    if (failure) return;
    take_signals();
    watch_signals();
  };
  signals_.async_wait(asio::posix::descriptor_base::wait_read, on_readable);
}

void Agent::take_signals() {
  signalfd_siginfo came{};
  while (::read(signals_.native_handle(), &came, sizeof came) ==
         static_cast<ssize_t>(sizeof came)) {
    bool const by_process = came.ssi_code == SI_USER || came.ssi_code == SI_QUEUE;
    feed(agent::SignalCame{static_cast<int>(came.ssi_signo),
                           by_process ? static_cast<int>(came.ssi_pid) : 0});
  }
}

void Agent::watch_guardian() {
  GuardianLine::Callbacks callbacks;
  callbacks.on_signal = [this](int signal, int sender) { feed(agent::SignalCame{signal, sender}); };
  callbacks.on_fenced = [this] {
    if (leaf_) leaf_->kill();  // spent: a process born in it would be killed
    if (state_.phase == AgentPhase::running && cause_.text.empty())
      cause_ = {"this agent did not run, and its workers were ended", now(), false};
    feed(agent::Fenced{});
  };
  callbacks.on_gone = [this] { feed(agent::GuardianGone{}); };
  guardian_.listen(std::move(callbacks));
  guardian_.begin();
}

}  // namespace muster::launch
