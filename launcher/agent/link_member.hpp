// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent's side of the rendezvous, whatever carries its messages: feeds membership::member_step
// and carries its effects out to the agent. Control thread only. Must outlive nothing: what it has
// posted does nothing once it is gone.

#include "launcher/agent/membership_link.hpp"
#include "rendezvous/membership/member.hpp"

#include <deque>
#include <functional>
#include <memory>

namespace muster::launch {

// Runs a function later on the control thread, never inside the call.
using Post = std::function<void(std::function<void()>)>;

// Who this agent is and what it asks for.
membership::MemberState make_member(membership::NodeFacts facts, membership::JobSettings job,
                                    std::string run_id, std::string backend, std::string endpoint);

class LinkMember {
 public:
  struct Shell {
    Post post;
    std::function<void(membership::Header, membership::Message)> say;  // to the host
    std::function<void(TimePoint)> wake_at;  // call event(Tick) then; the latest one counts
    std::function<void(Outcome const&)> concluded;
    std::function<void(Error const&)> gave_up;
    // Where the workers' store is not the agent's to open (static): set, and used instead.
    std::function<Result<std::uint16_t>(RoundNumber)> open_store;
  };

  LinkMember(membership::MemberState state, Shell shell);
  LinkMember(LinkMember const&) = delete;
  LinkMember& operator=(LinkMember const&) = delete;

  void start(MembershipListener& listener);  // once, before any event

  // From outside: handled on the control thread, after this call returned.
  void post_event(membership::member::Event event);
  // From the control thread, never inside a callback of the listener.
  void event(membership::member::Event const& event);

  void workers_failed(WorkerFailure failure);

  membership::MemberState const& state() const { return state_; }
  // For static: peers and the shell name the master themselves.
  void use_master(std::string address, std::uint16_t port);

 private:
  void carry_out(membership::member::Effect const& effect);
  void open_store(RoundNumber round);
  void start_workers(membership::Commit const& commit);

  membership::MemberState state_;
  Shell shell_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string master_address_;
  std::uint16_t master_port_ = 0;
};

RoundView view_of(membership::Commit const& commit);
Outcome outcome_of(membership::Outcome const& outcome);

}  // namespace muster::launch
