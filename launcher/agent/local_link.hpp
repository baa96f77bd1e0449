// SPDX-License-Identifier: Apache-2.0
#pragma once
// The membership of a job of one node: the same host and member machines as over the network, in
// this process, without leases, sockets or timers. Control thread only.

#include "launcher/agent/link_member.hpp"
#include "rendezvous/membership/event.hpp"
#include "rendezvous/membership/host.hpp"

namespace muster::launch {

struct LocalLinkOptions {
  std::string run_id;
  std::string host_name;
  std::string role = "default";
  std::uint32_t local_world_size = 1;
  std::uint32_t max_restarts = 0;
  std::string master_addr = "127.0.0.1";  // where open_store's port is reached
  bool fixed_port = false;  // open_store always uses the same port: asked only when all workers of
                            // the round before are dead
};

class LocalLink final : public MembershipLink {
 public:
  LocalLink(Post post, LocalLinkOptions options);

  void join(MembershipListener& listener) override;
  void workers_failed(WorkerFailure failure) override;
  void workers_done(RoundNumber round) override;
  void stopped(RoundNumber round) override;
  void leave(int exit_code, std::string why) override;

 private:
  void to_host(membership::Header header, membership::Message message);

  Post post_;
  membership::JobSettings job_;
  membership::Host host_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  LinkMember member_;
};

}  // namespace muster::launch
