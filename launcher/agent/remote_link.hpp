// SPDX-License-Identifier: Apache-2.0
#pragma once
// The membership of a job of several nodes, for the backends c10d and static. Puts together who
// tells one story each: whose job it is to host (endpoint_search), this agent as the host
// (own_hosting), its line to another (host_line), torchrun's agents at the same endpoint
// (torchrun_watch), and the member that decides. Control thread only; nothing here blocks it.

#include "launcher/agent/endpoint_search.hpp"
#include "launcher/agent/host_line.hpp"
#include "launcher/agent/link_member.hpp"
#include "launcher/agent/link_options.hpp"
#include "launcher/agent/own_hosting.hpp"
#include "launcher/agent/silence_note.hpp"
#include "launcher/agent/torchrun_watch.hpp"
#include "rendezvous/net/peer_lines.hpp"
#include "rendezvous/net/prober.hpp"

#include <optional>

namespace muster::launch {

class RemoteLink final : public MembershipLink, private LinkShell {
 public:
  RemoteLink(net::asio::io_context& io, RemoteLinkOptions options);

  void join(MembershipListener& listener) override;
  void workers_failed(WorkerFailure failure) override;
  void workers_done(RoundNumber round) override;
  void stopped(RoundNumber round, std::uint32_t unclean) override;
  void leave(int exit_code, std::string why) override;
  Duration silence() const override;

 private:
  // What the member wants done.
  void post(std::function<void()> call) override;
  void say(control::Letter letter) override;
  void wake_at(TimePoint at) override;
  void concluded(Outcome const& outcome) override;
  void gave_up(Error const& error) override { fail(error); }
  std::optional<Result<std::uint16_t>> open_store(StoreWish const& wish) override {
    return hosting_.open_store(wish);
  }
  bool admit_to_store(StoreWish const& wish) override { return hosting_.admit_to_store(wish); }
  void call_seat(membership::Seat const& seat, control::Letter letter) override;
  void reply(Incarnation to, control::Letter letter) override;
  void call_host(membership::Seat const& seat) override;
  void become_host(membership::Host const& host) override;
  void step_down(membership::HostIs const& by) override { hosting_.overrule(by); }
  void keep_last_word(membership::member::KeepLastWord const& wish) override;
  void probe(membership::Probe const& wish) override;

  EndpointSearch make_search();
  HostLine make_line();
  net::PeerLines make_peer_lines();
  net::ControlSide caller() const;
  std::string places_text() const;

  void begin_hosting();
  void called(control::Letter letter);
  void heard(control::Letter letter);
  void answered(control::Letter letter);
  void note_job(control::Letter const& letter);
  std::optional<UnansweredEndpoint> unanswered() const;
  TorchrunWatch::Callbacks watch_callbacks();
  void torchrun_met(Error const& error);
  void problem(Error const& error);
  void refused(Error const& error);
  Error not_ours(Error const& error) const;
  bool look_anew();
  membership::HostIs host_for_callers() const;
  void complete(membership::Message& message) const;
  void finish(std::function<void()> deliver);
  void fail(Error const& error);
  Error with_last_problem(Error error) const;
  bool must_host() const;

  net::asio::io_context& io_;
  RemoteLinkOptions options_;
  MembershipListener* listener_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::asio::steady_timer timer_;
  SilenceNote silence_;
  TorchrunWatch torchrun_;
  std::optional<Error> last_problem_;
  std::optional<TimePoint> seat_called_;  // since when a host that was named to us is called
  Incarnation spoken_as_;                 // on the lines to other nodes
  bool job_began_ = false, neighbour_ = false, over_ = false;
  EndpointSearch search_;
  HostLine line_;
  net::PeerLines peers_;
  OwnHosting hosting_;
  net::Prober prober_;
  LinkMember member_;
};

}  // namespace muster::launch
