// SPDX-License-Identifier: Apache-2.0
// One function per kind of contradiction.

#include "rendezvous/membership/admission.hpp"

namespace muster::membership {
namespace {

std::string nnodes_text(JobSettings const& job) {
  if (job.min_nodes == job.max_nodes) return std::to_string(job.max_nodes);
  return std::to_string(job.min_nodes) + ":" + std::to_string(job.max_nodes);
}

// The member that came first: its word is the job's.
Member const* first_member(Host const& host) {
  Member const* first = nullptr;
  for (auto const& [id, member] : host.members)
    if (!first || member.arrival < first->arrival) first = &member;
  return first;
}

std::optional<Error> refuse_different_job(Host const& host, Join const& join,
                                          JobSettings const& settings) {
  auto const refuse = [&](std::string const& flag, std::string const& theirs,
                          std::string const& ours) {
    auto const* first = first_member(host);
    auto const there = first ? first->facts.host : host.name;
    return Error{Errc::refused,
                 "host " + join.facts.host + " was started with " + flag + "=" + theirs +
                     ", host " + there + " with " + flag + "=" + ours,
                 "start every node of run " + host.run_id + " with the same " + flag};
  };
  if (join.job.min_nodes != settings.min_nodes || join.job.max_nodes != settings.max_nodes)
    return refuse("--nnodes", nnodes_text(join.job), nnodes_text(settings));
  if (join.job.max_restarts != settings.max_restarts)
    return refuse("--max-restarts", std::to_string(join.job.max_restarts),
                  std::to_string(settings.max_restarts));
  if (join.job.given_ranks != settings.given_ranks)
    return refuse("--rdzv-backend", join.backend, settings.given_ranks ? "static" : "c10d");
  return std::nullopt;
}

std::optional<Error> refuse_given_rank(Host const& host, Join const& join,
                                       JobSettings const& settings) {
  if (!settings.given_ranks) return std::nullopt;
  auto const rank = join.facts.given_rank;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= settings.max_nodes)
    return Error{Errc::refused,
                 "host " + join.facts.host + " was started with --node-rank=" +
                     std::to_string(rank) + " for " + std::to_string(settings.max_nodes) + " nodes",
                 "node ranks are 0 to " + std::to_string(settings.max_nodes - 1)};
  for (auto const& [id, member] : host.members)
    if (member.facts.given_rank == rank)
      return Error{Errc::refused,
                   "node rank " + std::to_string(rank) + " is taken by host " + member.facts.host +
                       "; host " + join.facts.host + " claims it too",
                   "give each node its own --node-rank"};
  return std::nullopt;
}

// It takes part in a world that this host knows nothing of: one that began under a host before us.
std::optional<Error> refuse_orphan(Host const& host, Join const& join) {
  if (join.status.committed == RoundNumber{}) return std::nullopt;
  return Error{Errc::lost_quorum,
               "host " + join.facts.host + " takes part in run " + host.run_id +
                   " under a rendezvous host that is gone; host " + host.name +
                   " has started since and does not know that world",
               "start the job again on all nodes"};
}

std::optional<Error> refuse_late(Host const& host, Join const& join) {
  if (host.phase == Phase::gathering) return std::nullopt;
  std::string const subject = "host " + join.facts.host + " came too late for run " + host.run_id;
  switch (host.phase) {
    case Phase::gathering:
    case Phase::forming:
    case Phase::running:
      return Error{Errc::refused,
                   subject + ": it runs with " + std::to_string(host.members.size()) +
                       " nodes since its start, and takes no newcomers",
                   "start all nodes within the join time, or use another --rdzv-id"};
    case Phase::ending:
    case Phase::concluding:
    case Phase::telling:
    case Phase::over:
      break;
  }
  return Error{Errc::refused, subject + ": the job is over",
               "start it again on all nodes, or use another --rdzv-id"};
}

}  // namespace

std::optional<Error> refuse_newcomer(Host const& host, Join const& join,
                                     JobSettings const& settings) {
  if (auto error = refuse_orphan(host, join)) return error;
  if (auto error = refuse_different_job(host, join, settings)) return error;
  if (auto error = refuse_late(host, join)) return error;
  return refuse_given_rank(host, join, settings);
}

Error refuse_other_job(std::string const& served, std::string const& host, std::string const& asked,
                       std::string const& asking_host) {
  return Error{Errc::refused,
               "the endpoint serves run " + served + ", started on host " + host + "; host " +
                   asking_host + " asks for run " + asked,
               "give all nodes of a job the same --rdzv-id, and each job an endpoint of its own "
               "(or a musterd for all)"};
}

}  // namespace muster::membership
