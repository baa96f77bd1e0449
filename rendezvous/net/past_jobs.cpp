// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/past_jobs.hpp"

#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t kMostNotes = 4096;
constexpr std::size_t kMostReportBytes = 32u << 20;

std::size_t report_bytes(PastJob const& job) {
  std::size_t bytes = 0;
  for (auto const& report : job.outcome.reports) bytes += report.size();
  return bytes;
}

}  // namespace

void PastJobs::forget_old(TimePoint now) {
  std::erase_if(notes_, [&](auto const& entry) {
    if (entry.second.until > now) return false;
    report_bytes_ -= report_bytes(entry.second.job);
    return true;
  });
}

// Beyond the bounds the code and the reason are kept, without the reports; then nothing new.
void PastJobs::note(PastJob job, TimePoint now) {
  forget_old(now);
  auto const run_id = job.header.run_id;
  if (auto const old = notes_.find(run_id); old != notes_.end()) {
    report_bytes_ -= report_bytes(old->second.job);
    notes_.erase(old);
  }
  if (notes_.size() >= kMostNotes) return;
  if (report_bytes_ + report_bytes(job) > kMostReportBytes) job.outcome.reports.clear();
  report_bytes_ += report_bytes(job);
  notes_.emplace(run_id, Note{std::move(job), now + kPastFor});
}

PastJob const* PastJobs::find(std::string const& run_id, Generation generation, TimePoint now) {
  forget_old(now);
  auto const found = notes_.find(run_id);
  if (found == notes_.end() || found->second.job.header.generation != generation) return nullptr;
  return &found->second.job;
}

}  // namespace muster::net
