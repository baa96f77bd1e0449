// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include "launcher/agent/messages.hpp"
#include "launcher/agent/node_report.hpp"
#include "launcher/diagnose/summary.hpp"
#include "launcher/logs/run_folder.hpp"
#include "launcher/process/channel.hpp"
#include "launcher/process/spawn.hpp"
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/membership/settings.hpp"
#include "rendezvous/net/listener.hpp"

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

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

// Whatever somebody may send to the agent itself; what was ignored when muster started stays so.
int open_signals(InheritedSignals const& inherited) {
  sigset_t set;
  sigemptyset(&set);
  for (int const signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
    if (!inherited.is_ignored(signal)) sigaddset(&set, signal);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

Agent::Agent(asio::io_context& io, AgentSetup setup, MembershipLink& link, Pump& pump)
    : io_(io),
      setup_(std::move(setup)),
      link_(link),
      pump_(pump),
      settings_(settings_of(setup_)),
      signals_(io, open_signals(setup_.inherited)),
      channel_(io, setup_.seat.channel),
      timer_(io),
      word_(io) {}

Agent::~Agent() = default;

void Agent::start() {
  watch_signals();
  watch_guardian();
  link_.join(*this);
}

// While workers run the guardian is told again and again that we can be fenced by the membership.
// Should we be stopped, it ends us all when the other nodes have given this one up.
void Agent::reassure_guardian() {
  if (setup_.options.rendezvous == Rendezvous::local) return;
  auto const& given = setup_.options.settings.dead_after;
  Duration const dead = given ? Duration{*given} : membership::JobSettings{}.dead;
  give_word(group_ ? dead : Duration::zero());
  word_.expires_after(std::min<Duration>(dead / 5, std::chrono::seconds{1}));
  word_.async_wait([this](net::error_code failure) {
    if (!failure) reassure_guardian();
  });
}

void Agent::give_word(Duration patience) {
  using std::chrono::milliseconds;
  ChannelPacket packet;
  packet.notice = Notice::alive;
  packet.patience_ms =
      static_cast<std::uint32_t>(std::chrono::duration_cast<milliseconds>(patience).count());
  // A stopped guardian's channel may be full: it has enough to read.
  if (::send(channel_.native_handle(), &packet, sizeof packet, MSG_NOSIGNAL) < 0) return;
}

// The guardian is told before a worker is in it.
void Agent::make_leaf() {
  leaf_.reset();  // removed before the next one is looked for
  leaf_ = CgroupLeaf::make(leaves_made_++);
  ChannelPacket packet;
  packet.notice = Notice::leaf;
  if (!leaf_ || leaf_->path().size() >= sizeof packet.path) return;
  leaf_->path().copy(packet.path, sizeof packet.path - 1);
  // Without a guardian there is nobody to tell; watch_guardian() sees that.
  if (::send(channel_.native_handle(), &packet, sizeof packet, MSG_NOSIGNAL) < 0) return;
}

// What the membership says.

Result<std::uint16_t> Agent::open_store(RoundNumber round) {
  auto const& options = setup_.options;
  bool const local = options.rendezvous == Rendezvous::local;
  auto const endpoint = options.endpoint.value_or(Endpoint{});
  bool const fixed_port = local && endpoint.port != 0;
  if (fixed_port) stores_.clear();  // no worker of an older round is alive
  auto host = local ? endpoint.host : std::string();
  if (local && host.empty()) host = "127.0.0.1";
  auto const port = local ? endpoint.port : std::uint16_t{0};
  MUSTER_TRY(auto acceptor, net::listen_on(io_, host, port));
  net::Server server(std::move(acceptor), net::ServerOptions{});
  auto const chosen = server.port();
  stores_.insert_or_assign(round, std::move(server));
  return chosen;
}

void Agent::on_round(RoundView const& view) {
  stores_.erase(stores_.begin(), stores_.lower_bound(view.round));
  feed(agent::RoundCommitted{view});
}

void Agent::on_stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) {
  if (cause_.empty()) {
    cause_ = why;
    cause_at_ = now();
    cause_is_follower_ = false;
  }
  feed(agent::StopOrdered{round, grace, why});
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

void Agent::carry_out(agent::StartWorkers) {
  new_group();
  auto ready = make_ready();
  if (!ready) return start_failed(ready.error(), exit_code_of(ready.error().code));
  if (leaf_)
    for (auto& command : ready->commands) command.cgroup = leaf_->folder();
  auto const started = group_->start(ready->commands);
  ready->held.clear();
  pump_.add(std::move(ready->streams));
  if (!started) return start_failed(started.error(), exit_code_of_spawn(started.error()));
  announce();
  cause_.clear();
}

void Agent::start_failed(Error const& error, int exit_code) {
  error_ = error;
  feed(agent::StartFailed{exit_code, to_string(error)});
}

void Agent::new_group() {
  group_.reset();
  if (leaves_made_ == 0 || (leaf_ && leaf_->is_spent())) make_leaf();
  WorkerGroup::Callbacks callbacks;
  callbacks.on_ended = [this](int local_rank, ExitStatus status) {
    if (!status.success()) note_cause(local_rank, status);
    feed(agent::WorkerEnded{local_rank, status});
  };
  callbacks.on_released = [this](int unclean) {
    if (unclean > 0)
      pump_.say("muster: " + std::to_string(unclean) +
                " processes cannot be killed (state D: stuck in the kernel)");
    feed(agent::GroupReleased{});
  };
  group_ = std::make_unique<WorkerGroup>(io_, setup_.inherited, leaf_ ? &*leaf_ : nullptr,
                                         std::move(callbacks));
  reassure_guardian();
}

Result<ReadyWorkers> Agent::make_ready() {
  if (!run_folder_) {
    MUSTER_TRY(run_folder_, make_run_folder(setup_.options, setup_.env));
  }
  MUSTER_TRY(attempt_, Attempt::prepare(setup_, *run_folder_, *state_.view));
  return attempt_->ready(setup_);
}

void Agent::announce() {
  auto const& view = *state_.view;
  if (view.restart_count == 0 && view.repeat == 0) {
    pump_.say(start_line(setup_, view, *run_folder_));
  } else {
    auto const since = cause_.empty() ? Duration::zero() : now() - cause_at_;
    pump_.say(restart_line(setup_, view, cause_, since));
  }
}

void Agent::note_cause(int local_rank, ExitStatus status) {
  if (ended_as_asked(state_, status, now())) return;
  // A rank that lost its peer may be seen before that peer, who then is the better cause.
  bool const follows = status.shell_code() == env::kExitPeerLost;
  if (!cause_.empty() && (follows || !cause_is_follower_)) return;
  if (cause_.empty()) cause_at_ = now();
  cause_ = cause_line(*state_.view, local_rank, group_->pid_of(local_rank), status);
  cause_is_follower_ = follows;
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
  ChannelPacket packet;
  packet.notice = Notice::suspend;
  if (::send(channel_.native_handle(), &packet, sizeof packet, MSG_NOSIGNAL) < 0)
    carry_out(agent::Thaw{});  // no guardian that could stop and be continued
}

void Agent::carry_out(agent::Thaw) {
  if (group_) group_->signal(SIGCONT);
}

// The link.

// What the workers wrote last is still in their pipes: the pump takes it first.
void Agent::carry_out(agent::ReportFailure effect) {
  report_pending_ = true;
  auto ends = state_.ends;
  pump_.collect_tails([this, effect, ends = std::move(ends)](Tails tails) {
    asio::post(io_, [this, effect, ends, tails = std::move(tails)]() mutable {
      send_report(effect, ends, std::move(tails));
    });
  });
}

void Agent::send_report(agent::ReportFailure effect, std::vector<WorkerEnd> const& ends,
                        Tails tails) {
  auto const pid_of = [this](int local_rank) { return group_->pid_of(local_rank); };
  auto const report = make_node_report(setup_, *state_.view, ends, *attempt_, tails, pid_of);
  WorkerFailure failure;
  failure.round = state_.view->round;
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
    link_.stopped(effect.round);
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
  stores_.clear();
  give_word(Duration::zero());  // what is left, the console above all, may take its time
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
  auto const on_readable = [this](net::error_code failure) {
    if (!failure) take_packets();
  };
  channel_.async_wait(asio::posix::descriptor_base::wait_read, on_readable);
}

void Agent::take_packets() {
  for (;;) {
    ChannelPacket packet;
    auto const got = ::recv(channel_.native_handle(), &packet, sizeof packet, MSG_DONTWAIT);
    if (got == 0) return feed(agent::GuardianGone{});
    if (got != static_cast<ssize_t>(sizeof packet)) return watch_guardian();
    if (packet.notice == Notice::signal) feed(agent::SignalCame{packet.signal, packet.sender_pid});
  }
}

}  // namespace muster::launch
