// SPDX-License-Identifier: Apache-2.0
#pragma once
// The membership of a job of one node: the same host and member machines as over the network, in
// this process, without leases, sockets or timers. Control thread only.

#include "launcher/agent/link_member.hpp"
#include "launcher/agent/link_options.hpp"
#include "rendezvous/membership/event.hpp"
#include "rendezvous/membership/host.hpp"

namespace muster::launch {

// Runs a function later on the control thread, never inside the call.
using Post = std::function<void(std::function<void()>)>;

class LocalLink final : public MembershipLink, private LinkShell {
 public:
  LocalLink(Post post, LocalLinkOptions options);

  void join(MembershipListener& listener) override;
  void workers_failed(WorkerFailure failure) override;
  void workers_done(RoundNumber round) override;
  void stopped(RoundNumber round, std::uint32_t unclean) override;
  void leave(int exit_code, std::string why) override;
  Duration silence() const override { return Duration::zero(); }

 private:
  void post(std::function<void()> call) override { post_(std::move(call)); }
  void say(control::Letter letter) override;
  void wake_at(TimePoint) override {}  // nothing here waits for time
  void concluded(Outcome const& outcome) override { listener_->on_outcome(outcome); }
  void gave_up(Error const& error) override { listener_->on_error(error); }

  Post post_;
  membership::JobSettings job_;
  membership::Host host_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  LinkMember member_;
};

}  // namespace muster::launch
