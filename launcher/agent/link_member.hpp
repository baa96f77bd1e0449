// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent's side of the rendezvous, whatever carries its messages: feeds membership::member_step
// and carries its effects out to the agent. Control thread only. Must outlive nothing: what it has
// posted does nothing once it is gone.

#include "launcher/agent/membership_link.hpp"
#include "rendezvous/control/codec.hpp"
#include "rendezvous/membership/member.hpp"
#include "rendezvous/membership/member_effect.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace muster::launch {

// Who this agent is and what it asks for.
membership::MemberState make_member(membership::NodeFacts facts, membership::JobSettings job,
                                    std::string run_id, std::string backend, std::string endpoint);

// What carries out those wishes of a member that concern other nodes. No call comes back from
// inside a call.
class LinkShell {
 public:
  virtual ~LinkShell() = default;
  // Runs a function later on the control thread.
  virtual void post(std::function<void()> call) = 0;
  virtual void say(control::Letter letter) = 0;  // to the host
  virtual void wake_at(TimePoint at) = 0;  // event(Tick) is called then; the latest one counts
  virtual void concluded(Outcome const& outcome) = 0;
  virtual void gave_up(Error const& error) = 0;
  // Set where the workers' store is not the agent's to open (static).
  virtual std::optional<Result<std::uint16_t>> open_store(StoreWish const&) { return std::nullopt; }
  // More peers for a store that is open. False: it is the agent's.
  virtual bool admit_to_store(StoreWish const&) { return false; }
  // Where several nodes take part; see membership/member_effect.hpp.
  virtual void call_seat(membership::Seat const&, control::Letter) {}
  virtual void reply(Incarnation, control::Letter) {}
  virtual void call_host(membership::Seat const&) {}
  virtual void become_host(membership::Host const&) {}
  virtual void step_down(membership::HostIs const&) {}
  virtual void keep_last_word(membership::member::KeepLastWord const&) {}
  virtual void probe(membership::Probe const&) {}  // event(PeersProbed) follows
};

class LinkMember {
 public:
  // The shell outlives the member.
  LinkMember(membership::MemberState state, LinkShell& shell);
  LinkMember(LinkMember const&) = delete;
  LinkMember& operator=(LinkMember const&) = delete;

  void start(MembershipListener& listener);  // once, before any event

  // From outside: handled on the control thread, after this call returned.
  void post_event(membership::member::Event event);
  // From the control thread, never inside a callback of the listener.
  void event(membership::member::Event const& event);

  void workers_failed(WorkerFailure failure);

  membership::MemberState const& state() const { return state_; }
  control::Letter letter(membership::Message message) const;
  // Of this agent's own listener. Before it joins.
  void set_control_port(std::uint16_t port) { state_.facts.control_port = port; }
  // For static: peers and the shell name the master themselves.
  void use_master(std::string address, std::uint16_t port);

 private:
  void carry_out(membership::member::Effect const& effect);
  void open_store(membership::OpenStore const& message);
  void admit_to_store(membership::OpenStore const& message);
  void start_workers(membership::Commit const& commit);

  membership::MemberState state_;
  LinkShell& shell_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string master_address_;
  std::uint16_t master_port_ = 0;
};

// `networks`: those that this node offered.
RoundView view_of(membership::Commit const& commit,
                  std::span<membership::NodeNetwork const> networks);
Outcome outcome_of(membership::Outcome const& outcome);

}  // namespace muster::launch
