// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/moved_jobs.hpp"

namespace muster::net {
namespace {

constexpr std::size_t kMostNotes = 4096;

bool is_older(membership::HostIs const& a, membership::HostIs const& b) {
  if (a.generation != b.generation) return a.generation < b.generation;
  return a.epoch < b.epoch;
}

}  // namespace

void MovedJobs::note(std::string const& run_id, membership::HostIs const& to, TimePoint now) {
  std::erase_if(notes_, [now](auto const& entry) { return entry.second.until <= now; });
  auto const known = notes_.find(run_id);
  if (known == notes_.end() && notes_.size() >= kMostNotes) return;
  if (known != notes_.end() && is_older(to, known->second.to)) return;
  notes_.insert_or_assign(run_id, Note{to, now + kMovedFor});
}

std::optional<membership::HostIs> MovedJobs::find(std::string const& run_id, TimePoint now) {
  auto const found = notes_.find(run_id);
  if (found == notes_.end()) return std::nullopt;
  if (found->second.until > now) return found->second.to;
  notes_.erase(found);
  return std::nullopt;
}

}  // namespace muster::net
