// SPDX-License-Identifier: Apache-2.0
#pragma once
// A made-up machine room around the real cores: agents with their guardians and workers, hosts in
// them or in a daemon, machines, clocks, a network, and what goes wrong. One seed, one history. A
// value: a copy has the same future. After every event the invariants are checked (invariants.hpp);
// a history ends at the first that breaks.

#include "rendezvous/sim/invariants.hpp"
#include "rendezvous/sim/network.hpp"
#include "rendezvous/sim/plan.hpp"
#include "rendezvous/sim/process.hpp"
#include "rendezvous/sim/twist.hpp"

#include <functional>

namespace muster::sim {

enum class Telling { nothing, what_matters, everything };

class World {
 public:
  // `twist` outlives the world and all its copies.
  World(std::uint64_t seed, Plan plan, Telling telling = Telling::nothing,
        Twist const* twist = nullptr);

  // Until every program has ended, an invariant breaks, or so much time has passed.
  void run(Duration limit);
  // One thing happens, and the invariants are checked.
  void happen(Happening const& what);
  void strike(Fault const& fault);
  // Forgets what will come to nothing: timers that were set anew since, what is due to the dead.
  void drop_stale();
  bool everybody_ended() const;
  bool runs_for_ever() const { return script_.endless; }  // until FinishWorkers strikes

  Agenda agenda;
  Network network;
  std::vector<Node> nodes;
  std::map<ProcessId, Process> processes;
  Checker checker;
  std::vector<std::string> story;
  std::uint64_t events = 0;

  Plan const& plan() const { return *plan_; }
  TimePoint moment() const { return agenda.moment(); }
  Duration elapsed() const { return moment() - kBegin; }
  // The last one that was started there; null before the first.
  Process const* last_on(NodeIndex node) const;
  Process const* find(Incarnation incarnation) const;
  std::string name_of(Process const& process) const;
  std::string name_of(Incarnation incarnation) const;
  bool can_run(Process const& process) const;  // neither stopped nor on a frozen machine
  Duration calm_at() const;                    // when the last fault is over
  Duration last_moment() const;                // by then everybody must have come to an end

 private:
  // world.cpp
  void carry_out(Happening const& what);
  Process* actor(Happening const& what);
  bool defer(Happening const& what);
  TimePoint node_time(Process const& process) const;
  TimePoint world_time(Process const& process, TimePoint node_time) const;
  void tell(std::string line);
  bool tells(Telling least) const { return telling_ >= least; }
  void trace(Process const& to, control::Letter const& letter);
  Process& at(ProcessId id) { return processes.at(id); }
  Process* listener(NodeIndex node);
  NodeIndex node_at(std::string const& address) const;
  Parcel wrap(control::Letter letter) const;

  // wires.cpp: what connections bring
  void dialed(due::Dialed const& due);
  void happen_in_turn(due::Opened const& due);
  void opened(due::Opened const& due);
  void dial_failed(due::DialFailed const& due);
  void arrived(due::Arrival const& due);
  void stream_ended(ConnectionId id, Side at);
  void letter_at_listener(Process& process, ConnectionId id, control::Letter const& letter);
  void letter_at_caller(Process& process, ConnectionId id, control::Letter const& letter);
  void call_host(Process& process);
  void call_host_again(Process& process);
  void leave_host(Process& process);
  void call_seat(Process& process, membership::member::CallSeat const& call);
  void watch(Process& process);

  // agent.cpp: a member and what it asks for
  void start_agent(NodeIndex node);
  void feed(Process& process, membership::member::Event event);
  void perform(Process& process, membership::member::Effect const& effect);
  void say(Process& process, membership::Message const& message);
  void open_store(Process& process, membership::OpenStore const& wish);
  void probe(Process& process, membership::Probe const& probe);
  void become_host(Process& process, membership::Host host);
  void conclude(Process& process);
  void exit_if_done(Process& process);

  // hosting.cpp: a host and what it asks for
  Hosting& newborn(Process& process, membership::JobSettings const& job);
  void feed_host(Process& process, membership::HostEvent event);
  void host_hears(Process& process, ConnectionId id, control::Letter const& letter);
  void host_sends(Process& process, membership::Send const& sent);
  void host_finished(Process& process, membership::HostStep const& step);
  void tell_host(Process const& process, HostMarks const& before, membership::Why const& why);
  void note_moments(membership::Host const& host, HostMarks const& before);
  control::Letter letter_of(Hosting const& hosting, membership::Message message) const;

  // workers.cpp
  void start_workers(Process& process, membership::Commit const& commit);
  void stop_workers(Process& process, membership::member::StopWorkers const& order);
  void hold_workers(Process& process);
  void let_workers_go_on(Process& process);
  void workers_end(Process& process, due::WorkersEnd const& due);
  void fail_workers(Process& process, std::int32_t exit_code, bool is_consequence);
  void kill_workers(Process& process);
  void workers_dead(due::WorkersDead const& due);
  bool peers_are_well(Process const& process) const;
  void notify(Process& process, membership::member::Event event, Duration after);

  // guardian.cpp
  void reassure_guardian(Process& process);
  void plan_look(Process& process);
  void guardian_looks(Process& process);
  void keep_last_word(Process& process, membership::member::KeepLastWord const& wish);
  void call_for_word(Process& process);
  void aim_last_word(Process& process);
  void last_word_line_ended(Process& process, ConnectionId id);
  std::set<ConnectionId> word_lines(Process const& process) const;
  void agent_killed(Process& process);
  void process_gone(Process& process);

  // machines.cpp: faults
  void divide(fault::Partition const& partition);
  void pause(NodeIndex node, Duration length, bool whole_machine);
  void resume(due::Resume const& due);
  void power_off(NodeIndex node);
  void kill(NodeIndex node, bool guardian_too);
  void terminate(NodeIndex node);
  void finish_workers();
  void apply(Fault const& fault);
  void strike_planned(std::uint32_t index);

  std::shared_ptr<Plan const> plan_;  // of all copies
  Script script_;
  std::vector<std::uint32_t> passed_;  // how often the moment of each MomentFault has come
  Telling telling_;
  Twist const* twist_;
  Evidence evidence_;  // of the present event
  std::uint32_t started_ = 0;
  std::uint64_t generations_ = 0;
};

}  // namespace muster::sim
