// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/epilogue.hpp"

#include "launcher/agent/disk_thread.hpp"
#include "launcher/diagnose/error_file.hpp"
#include "launcher/diagnose/root_cause.hpp"
#include "launcher/diagnose/summary.hpp"
#include "launcher/environment/file_system.hpp"
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::launch {
namespace {

constexpr Duration kDiskEnd = std::chrono::seconds{5};

std::string own_error_file(EnvView const& env) {
  return std::string(env.get(env::kErrorFile).value_or(""));
}

// A file server that does not answer does not hold up the end.
void write_down(std::string const& path, std::function<std::string()> text) {
  auto const written = std::make_shared<Result<void>>(ok());
  auto const in_time = run_within(kDiskEnd, [written, path, text = std::move(text)] {
    *written = write_error_file(path, text());
  });
  if (!in_time)
    log::warning("the error file " + path + " is not written: its file system does not answer");
  else if (!*written)
    log::warning(to_string(written->error()));
}

std::vector<NodeReport> parsed(std::vector<std::string> const& texts) {
  std::vector<NodeReport> reports;
  for (auto const& text : texts) {
    auto report = node_report_from_json(text);
    if (report)
      reports.push_back(*std::move(report));
    else
      log::warning("a node's failure report is left out: " + to_string(report.error()));
  }
  return reports;
}

}  // namespace

void tell_outcome(Pump& pump, EnvView const& env, std::string const& host, Outcome const& outcome) {
  if (outcome.success) return;
  auto const reports = parsed(outcome.reports);
  auto summary = failure_summary(reports);
  if (summary.empty()) {
    if (!outcome.why.empty()) pump.say("muster: " + outcome.why);
    return;
  }
  summary.pop_back();  // say() ends the line
  pump.say(std::move(summary));
  auto const path = own_error_file(env);
  if (path.empty()) return;
  auto const root = order_by_cause(reports).front();
  bool const is_ours = root.node->host == host && !root.worker->error_file.empty();
  write_down(path, [is_ours, worker = *root.worker] {
    std::optional<std::string> text;
    if (is_ours) text = RealFileSystem().read(worker.error_file);
    return error_file_for(worker, text);
  });
}

void record_error(EnvView const& env, Error const& error) {
  auto const path = own_error_file(env);
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (path.empty()) return;
  write_down(path, [error] { return error_file_for(error, wall_clock_ns() / kSecond); });
}

}  // namespace muster::launch
