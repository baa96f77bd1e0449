// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent of one node: feeds agent_step with rounds, ends of workers and signals, and carries out
// what it decides. Control thread only; lives from join to exit. Blocks nowhere but in the short
// sweep after a round.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/agent_step.hpp"
#include "launcher/agent/attempt.hpp"
#include "launcher/agent/disk_thread.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/agent/node_report.hpp"
#include "launcher/agent/round_files.hpp"
#include "launcher/agent/round_stores.hpp"
#include "launcher/agent/word_lines.hpp"
#include "launcher/agent/worker_group.hpp"
#include "launcher/logs/pump.hpp"
#include "launcher/process/cgroup_leaf.hpp"
#include "launcher/process/guardian_line.hpp"
#include "launcher/process/privilege.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster::launch {

class Agent final : private MembershipListener {
 public:
  // `link`, `pump` and `io` outlive the agent. The pump's thread may still post to `io` when the
  // agent is gone; then `io` does not run any more.
  Agent(net::asio::io_context& io, AgentSetup setup, MembershipLink& link, Pump& pump);
  ~Agent();

  // Joins; the io_context then runs until the agent has decided to exit.
  void start();

  int exit_code() const { return exit_code_; }
  // What the job came to, if it was told; nothing if it ended because this agent left, which was
  // said already.
  std::optional<Outcome> outcome() const { return left_ ? std::nullopt : outcome_; }
  // What kept this node from going on, if it was not a worker.
  std::optional<Error> const& error() const { return error_; }

 private:
  Result<std::uint16_t> open_store(StoreWish const& wish) override;
  void admit_to_store(StoreWish const& wish) override;
  void on_round(RoundView const& view) override;
  void on_last_words(LastWords const& words) override;
  void on_stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) override;
  void on_pause() override;
  void on_resume() override;
  void on_note(std::string const& text) override;
  void on_outcome(Outcome const& outcome) override;
  void on_error(Error const& error) override;

  void feed(agent::Event event);
  void carry_out(agent::StartWorkers);
  void carry_out(agent::StopWorkers effect);
  void carry_out(agent::KillWorkers);
  void carry_out(agent::SignalWorkers effect);
  void carry_out(agent::Freeze);
  void carry_out(agent::Thaw);
  void carry_out(agent::ReportFailure effect);
  void carry_out(agent::ReportDone);
  void carry_out(agent::ReportStopped effect);
  void carry_out(agent::ReportFenced effect);
  void carry_out(agent::Leave const& effect);
  void carry_out(agent::Say const& effect);
  void carry_out(agent::WakeAt effect);
  void carry_out(agent::Exit effect);

  bool has_leases() const;
  void make_leaf();
  void new_group();
  void start_group(RoundFiles files);
  void started(Result<void> const& result);
  void start_failed(Error const& error, int exit_code);
  void announce();
  void announce_network();
  void note_cause(int local_rank, ExitStatus status);
  void make_report(agent::ReportFailure effect, RoundEnds round);
  void send_report(agent::ReportFailure effect, NodeReport const& report);
  void tell(std::function<void()> call);
  void release_link();
  void take_signals();
  void watch_signals();
  void watch_guardian();
  void reassure_guardian();

  // Why a round ended, as far as this node knows.
  struct Cause {
    std::string text;
    TimePoint at{};
    bool is_follower = false;  // it only lost a peer; a better one may come
  };

  net::asio::io_context& io_;
  std::shared_ptr<AgentSetup const> const kept_setup_;  // also by what runs on the disk thread
  AgentSetup const& setup_;
  MembershipLink& link_;
  Pump& pump_;
  AgentSettings settings_;
  AgentState state_;
  std::deque<agent::Event> events_;  // those that come while another is carried out
  bool feeding_ = false;

  std::uint64_t starts_ = 0;
  std::optional<std::string> run_folder_;
  std::optional<Attempt> attempt_;
  std::optional<CgroupLeaf> leaf_;
  int leaves_made_ = 0;
  std::unique_ptr<WorkerGroup> group_;
  RoundStores stores_;

  std::deque<std::function<void()>> to_link_;  // behind a report that waits for its stderr lines
  bool report_pending_ = false;
  Cause cause_, last_cause_;
  std::string announced_way_;  // network, interface and master of the last line about them
  bool announced_ = false;     // this node has started workers before
  std::uint32_t unclean_ = 0;  // workers of the round that cannot be killed
  std::optional<Outcome> outcome_;
  std::optional<Error> error_;
  bool left_ = false;
  int exit_code_ = 95;

  Privilege privilege_;
  DiskThread disk_;
  net::asio::posix::stream_descriptor signals_;
  GuardianLine guardian_;
  WordLines word_lines_;
  net::asio::steady_timer timer_, word_;
};

}  // namespace muster::launch
