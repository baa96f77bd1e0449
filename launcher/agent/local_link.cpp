// SPDX-License-Identifier: Apache-2.0
// Host and member in one process: each message is a posted function call.

#include "launcher/agent/local_link.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/membership/host_step.hpp"

namespace muster::launch {
namespace {

constexpr Incarnation kOnlyNode{1};

membership::JobSettings settings_of(LocalLinkOptions const& options) {
  membership::JobSettings job;
  job.max_restarts = options.max_restarts;
  job.leases = job.succession = false;
  job.store_at_endpoint = options.fixed_port;
  return job;
}

membership::NodeFacts facts_of(LocalLinkOptions const& options) {
  auto facts = options.facts;
  facts.incarnation = kOnlyNode;
  if (facts.address.empty()) facts.address = "127.0.0.1";
  return facts;
}

membership::Host host_of(LocalLinkOptions const& options) {
  membership::Host host;
  host.run_id = options.run_id;
  host.generation = Generation{1};
  host.epoch = Epoch{1};
  host.self = kOnlyNode;
  host.name = options.facts.host;
  return host;
}

}  // namespace

LocalLink::LocalLink(Post post, LocalLinkOptions options)
    : post_(std::move(post)),
      job_(settings_of(options)),
      host_(host_of(options)),
      member_(make_member(facts_of(options), job_, options.run_id, "local", "this process"),
              *this) {}

void LocalLink::join(MembershipListener& listener) {
  listener_ = &listener;
  member_.start(listener);
  member_.post_event(membership::member::Connected{});
}

void LocalLink::workers_failed(WorkerFailure failure) {
  member_.workers_failed(std::move(failure));
}

void LocalLink::workers_done(RoundNumber round) {
  member_.post_event(membership::member::WorkersDone{round});
}

void LocalLink::stopped(RoundNumber round, std::uint32_t unclean) {
  member_.post_event(membership::member::WorkersStopped{round, unclean});
}

void LocalLink::leave(int exit_code, std::string why) {
  member_.post_event(membership::member::LeaveWanted{membership::Leave{exit_code, std::move(why)}});
}

void LocalLink::say(control::Letter letter) {
  membership::Received event{std::move(letter.header), std::move(letter.message), "127.0.0.1",
                             "127.0.0.1"};
  post_([this, alive = std::weak_ptr<bool>(alive_), event = std::move(event)] {
    if (alive.expired()) return;
    auto step = membership::host_step(host_, event, now(), job_);
    for (auto& send : step.sends) {
      membership::Header reply{host_.run_id, host_.generation,
                               host_.epoch,  membership::last_round(host_),
                               host_.self,   0};
      member_.post_event(membership::member::Heard{std::move(reply), std::move(send.message)});
    }
  });
}

}  // namespace muster::launch
