// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of a peer, shared by peer_step.cpp (events, the store, the end) and peer_round.cpp (what
// the shared state asks of us). Include nowhere else.

#include "rendezvous/torchrun/peer_event.hpp"

namespace muster::torchrun {

class PeerTurn {
 public:
  PeerTurn(PeerState& state, PeerClock clock) : peer_(state), clock_(clock), now_(clock.now) {}

  void take(peer::Event const& event);
  void look_at_time();
  std::vector<peer::Effect> finish();

 private:
  // Events.
  void begin();
  void store_answered(std::string const& value);
  void store_failed(Error const& error);
  void agreed(peer::Agreed const& event);
  void not_agreed(peer::NotAgreed const& event);
  void counted(peer::Counted const& event);
  void workers_failed(peer::WorkersFailed const& event);
  void workers_done();
  void workers_stopped();
  void leave(peer::LeaveWanted const& event);

  // The store.
  bool take_state(std::string const& value);
  void note_deadline();
  void write(RoundState next);
  PythonTime stamp(Duration later = Duration::zero()) const;
  bool beat_is_due() const;
  void look_again(Duration pause);

  // What the state asks for; peer_round.cpp.
  void consider();
  void consider_joining();
  void consider_open_round(RoundState next);
  void consider_complete_round(RoundState next);
  void consider_spare(RoundState next);
  void consider_working();
  void consider_parting();
  void keep_alive();
  void take_seat();
  void drop_dead(RoundState& state);
  bool everybody_is_here() const;
  bool holds_back(RoundState const& open);
  std::optional<NodeDesc> first_of_round(RoundState const& state) const;
  bool watch_members();
  bool follow_waiting();
  void say_who_is_here();
  Duration pause_between_looks() const;

  // The end.
  void stop_workers(std::string const& why);
  void join_anew();
  void end_by_others();
  void lose_store(std::string const& why);
  void join_timed_out();
  void part(PeerEnd end);
  void end();

  bool has_workers() const {
    return peer_.phase == PeerPhase::running || peer_.phase == PeerPhase::stopping;
  }
  bool is_of_seat(std::int64_t round) const { return peer_.seat && peer_.seat->round == round; }

  PeerState& peer_;
  PeerClock clock_;
  TimePoint now_;
  std::vector<peer::Effect> effects_;
};

}  // namespace muster::torchrun
