// SPDX-License-Identifier: Apache-2.0
// One function per kind of contradiction.

#include "rendezvous/membership/admission.hpp"

#include "rendezvous/membership/lease.hpp"

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
  auto const rank = join.facts.given_rank;
  if (!settings.given_ranks && rank < 0) return std::nullopt;  // c10d: a wish, if there is one
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= settings.max_nodes)
    return Error{Errc::refused,
                 "host " + join.facts.host + " was started with --node-rank=" +
                     std::to_string(rank) + " for " + counted(settings.max_nodes, "node"),
                 "node ranks are 0 to " + std::to_string(settings.max_nodes - 1)};
  // A wish for the rank of one that goes, or does not answer, is granted if that one stays away.
  auto const taken = host.members.with_rank(rank, [&settings](Member const& member) {
    return settings.given_ranks || (!member.leaving && member.connected);
  });
  if (!taken) return std::nullopt;
  return Error{Errc::refused,
               "node rank " + std::to_string(rank) + " is taken by host " +
                   host.members.at(*taken).facts.host + "; host " + join.facts.host +
                   " claims it too",
               "give each node its own --node-rank"};
}

std::optional<Error> refuse_late(Host const& host, Join const& join, JobSettings const& settings) {
  auto const subject = "host " + join.facts.host + " came too late for run " + host.run_id;
  auto const places = host.members.size() - host.members.leaving();
  if (settings.given_ranks && places >= settings.max_nodes)
    return Error{Errc::refused, subject + ": all of its node ranks are taken",
                 "give each node a --node-rank of its own"};
  switch (host.phase) {
    case Phase::gathering:
    case Phase::inquiring:
    case Phase::resuming:
    case Phase::forming:
    case Phase::running:
      return std::nullopt;
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
  if (auto error = refuse_different_job(host, join, settings)) return error;
  if (auto error = refuse_given_rank(host, join, settings)) return error;
  return refuse_late(host, join, settings);
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
