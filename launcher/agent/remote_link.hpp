// SPDX-License-Identifier: Apache-2.0
#pragma once
// The membership of a job of several nodes, for the backends c10d and static. Whoever can bind the
// endpoint hosts the rendezvous in this very process (static: node rank 0 does); everybody else
// calls it, again and again until the join deadline. Control thread only; nothing here blocks it.

#include "launcher/agent/endpoint_bind.hpp"
#include "launcher/agent/link_member.hpp"
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/net/host_service.hpp"
#include "rendezvous/net/server.hpp"

#include <optional>

namespace muster::launch {

struct RemoteLinkOptions {
  std::string run_id;
  std::string backend;  // "c10d" or "static"
  std::string host;     // of the endpoint
  std::uint16_t port = 0;
  std::optional<bool> is_host;  // unset: found out by binding
  bool waits_for_name = true;   // false: an endpoint whose name does not exist is an error at once
  membership::JobSettings job;
  membership::NodeFacts facts;
};

class RemoteLink final : public MembershipLink {
 public:
  RemoteLink(net::asio::io_context& io, RemoteLinkOptions options);

  void join(MembershipListener& listener) override;
  void workers_failed(WorkerFailure failure) override;
  void workers_done(RoundNumber round) override;
  void stopped(RoundNumber round) override;
  void leave(int exit_code, std::string why) override;

 private:
  LinkMember::Shell make_shell();
  void resolve_and_bind();
  void resolved(net::error_code const& ec, std::vector<std::string> addresses);
  void resolve_later();
  void host(Bound acceptors);
  void call();
  void problem(Error const& error);
  void say(membership::Header header, membership::Message message);
  void wake_at(TimePoint at);
  void finish(std::function<void()> deliver);
  void fail(Error const& error);
  Error with_last_problem(Error error) const;
  bool must_host() const;
  bool may_host() const;
  Post poster();

  net::asio::io_context& io_;
  RemoteLinkOptions options_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::tcp::resolver resolver_;
  net::asio::steady_timer timer_, retry_;
  std::vector<net::Server> servers_;  // where this process hosts; static: one, with the store
  std::optional<net::HostService> service_;
  std::optional<net::Dialer> dialer_;
  net::ControlConnection::Ptr connection_;
  std::optional<Error> last_problem_;
  std::function<void()> deliver_;  // the end, held back until a host has told everybody
  bool service_over_ = false, resolving_ = false, in_use_ = false, over_ = false;
  LinkMember member_;
};

}  // namespace muster::launch
