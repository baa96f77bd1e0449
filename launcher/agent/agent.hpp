// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent of one node: feeds agent_step with rounds, ends of workers and signals, and carries out
// what it decides. Control thread only; lives from join to exit. Blocks nowhere but in the short
// sweep after a round.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/agent_step.hpp"
#include "launcher/agent/attempt.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/agent/worker_group.hpp"
#include "launcher/logs/pump.hpp"
#include "launcher/process/cgroup_leaf.hpp"
#include "rendezvous/net/server.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace muster::launch {

class Agent final : private MembershipListener {
 public:
  // `link` and `pump` outlive the agent.
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
  Result<std::uint16_t> open_store(RoundNumber round) override;
  void on_round(RoundView const& view) override;
  void on_stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) override;
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
  void carry_out(agent::Leave const& effect);
  void carry_out(agent::Say const& effect);
  void carry_out(agent::WakeAt effect);
  void carry_out(agent::Exit effect);

  void make_leaf();
  void new_group();
  Result<ReadyWorkers> make_ready();
  void start_failed(Error const& error, int exit_code);
  void announce();
  void note_cause(int local_rank, ExitStatus status);
  void send_report(agent::ReportFailure effect, std::vector<WorkerEnd> const& ends, Tails tails);
  void tell(std::function<void()> call);
  void release_link();
  void take_signals();
  void watch_signals();
  void take_packets();
  void watch_guardian();
  void reassure_guardian();
  void give_word(Duration patience);

  net::asio::io_context& io_;
  AgentSetup setup_;
  MembershipLink& link_;
  Pump& pump_;
  AgentSettings settings_;
  AgentState state_;
  std::deque<agent::Event> events_;  // those that come while another is carried out
  bool feeding_ = false;

  std::optional<std::string> run_folder_;
  std::optional<Attempt> attempt_;
  std::optional<CgroupLeaf> leaf_;
  int leaves_made_ = 0;
  std::unique_ptr<WorkerGroup> group_;
  std::map<RoundNumber, net::Server> stores_;

  std::deque<std::function<void()>> to_link_;  // behind a report that waits for its stderr lines
  bool report_pending_ = false;
  std::string cause_;  // why the round before ended, as far as this node knows
  TimePoint cause_at_{};
  bool cause_is_follower_ = false;  // it only lost a peer; a better one may come
  std::optional<Outcome> outcome_;
  std::optional<Error> error_;
  bool left_ = false;
  int exit_code_ = 95;

  net::asio::posix::stream_descriptor signals_, channel_;
  net::asio::steady_timer timer_, word_;
};

}  // namespace muster::launch
