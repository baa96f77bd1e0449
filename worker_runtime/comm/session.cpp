// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/session.hpp"

#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/blocking_client.hpp"
#include "rendezvous/net/hosted_store.hpp"
#include "worker_runtime/comm/placement.hpp"
#include "worker_runtime/comm/stop_flag.hpp"
#include "worker_runtime/comm/tcp_group.hpp"
#include "worker_runtime/comm/threads_group.hpp"
#include "worker_runtime/comm/world_join.hpp"

#include <atomic>
#include <sched.h>

namespace muster::worker {
namespace {

// A store answers at once; what does not is something else.
constexpr Duration kStorePatience = std::chrono::seconds{10};

int cores_in_affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  return CPU_COUNT(&mask);
}

int cores_of(EnvView const& environment, int ranks_per_host) {
  for (auto const* name : {env::kMusterCpus, env::kOmpNumThreads}) {
    auto const text = environment.get(name);
    auto const count = text ? parse_int(*text) : std::nullopt;
    if (count && *count > 0 && *count < 100'000) return static_cast<int>(*count);
  }
  return std::max(1, cores_in_affinity_mask() / std::max(1, ranks_per_host));
}

// Whether the other end keeps what it is given.
bool is_store(net::BlockingClient& client) {
  constexpr char kProbe[] = "muster/probe";
  auto const deadline = deadline_in(kStorePatience);
  if (!client.set(kProbe, kProbe, deadline)) return false;
  auto const kept = client.get(kProbe, deadline);
  return kept && *kept == kProbe;
}

}  // namespace

struct Session::Body {
  std::optional<net::HostedStore> hosted;  // rank 0's, unless the launcher serves the store
  std::shared_ptr<ProcessGroup> group;
  int local_rank = 0;
  int restart_count = 0;
  std::uint64_t round = 0;
  int cpus = 1;
  std::atomic<bool> stop{false};
};

Result<void> Session::meet(Body& body, Placement const& placement, Duration timeout) {
  if (placement.size == 1) {
    body.group = make_threads_groups(1, timeout, "cpu")[0];
    return ok();
  }
  auto const deadline = deadline_in(timeout);
  std::optional<Error> taken;
  if (placement.rank == 0 && !placement.agent_store) {
    auto hosted = net::HostedStore::start("", placement.port);
    if (hosted)
      body.hosted = std::move(*hosted);
    else if (hosted.error().code == Errc::address_in_use)
      taken = std::move(hosted).error();
    else
      return std::move(hosted).error();
  }
  auto store = net::BlockingClient::connect(placement.host, placement.port,
                                            taken ? deadline_in(kStorePatience) : deadline);
  // A port in use may be a store that will do: another session's, a daemon's.
  if (taken && (!store || !is_store(*store)))
    return Error{Errc::address_in_use, taken->what + ", and its owner is no store",
                 "choose another MASTER_PORT"};
  if (!store) return std::move(store).error();
  WorldRequest request;
  request.rank = placement.rank;
  request.size = placement.size;
  request.store_host = placement.host;
  request.deadline = deadline;
  MUSTER_TRY(auto mesh, join_world(*store, request));
  MUSTER_TRY(body.group, make_tcp_group(std::move(mesh), timeout));
  return ok();
}

Session::Session(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(EnvView const& environment, SessionOptions options) {
  MUSTER_TRY(auto const placement, read_placement(environment, options.url));
  if (options.backend != "cpu" && options.backend != "gloo")
    return Error{Errc::unsupported, "backend '" + options.backend + "' is not part of this build",
                 "use cpu"};
  auto body = std::make_unique<Body>();
  MUSTER_CHECK(meet(*body, placement, options.timeout));
  body->local_rank = placement.local_rank.value_or(body->group->shape().local_index);
  body->restart_count = placement.restart_count;
  body->round = placement.round;
  body->cpus = cores_of(environment, body->group->shape().ranks_per_host);
  return Session(std::move(body));
}

std::vector<Session> Session::threads(int size, SessionOptions options) {
  std::vector<Session> sessions;
  for (auto& group : make_threads_groups(size, options.timeout, "threads")) {
    auto body = std::make_unique<Body>();
    body->local_rank = group->shape().rank;
    body->cpus = cores_of(EnvView(), size);
    body->group = std::move(group);
    sessions.push_back(Session(std::move(body)));
  }
  return sessions;
}

ProcessGroup& Session::world() {
  return *body_->group;
}
int Session::rank() const {
  return body_->group->shape().rank;
}
int Session::size() const {
  return body_->group->shape().size;
}
int Session::local_rank() const {
  return body_->local_rank;
}
int Session::restart_count() const {
  return body_->restart_count;
}
std::uint64_t Session::round() const {
  return body_->round;
}
int Session::cpus() const {
  return body_->cpus;
}

Result<bool> Session::stop_requested() {
  std::int32_t const mine[] = {body_->stop.load() || process_was_asked_to_stop() ? 1 : 0};
  auto const flag = Tensor::of<std::int32_t>(Shape{1}, std::span<std::int32_t const>(mine));
  CallOptions options;
  options.op = ReduceOp::max;
  options.site = "stop request";
  MUSTER_CHECK(all_reduce(world(), flag, options).wait());
  return flag.as<std::int32_t>()[0] != 0;
}

void Session::request_stop() noexcept {
  body_->stop.store(true);
}

}  // namespace muster::worker
