// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/epilogue.hpp"

#include "launcher/diagnose/error_file.hpp"
#include "launcher/diagnose/root_cause.hpp"
#include "launcher/diagnose/summary.hpp"
#include "launcher/environment/file_system.hpp"
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster::launch {
namespace {

std::string own_error_file(EnvView const& env) {
  return std::string(env.get(env::kErrorFile).value_or(""));
}

void write_down(std::string const& path, std::string const& text) {
  if (auto const written = write_error_file(path, text); !written)
    log::warning(to_string(written.error()));
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
  std::optional<std::string> text;
  if (root.node->host == host && !root.worker->error_file.empty())
    text = RealFileSystem().read(root.worker->error_file);
  write_down(path, error_file_for(*root.worker, text));
}

void record_error(EnvView const& env, Error const& error) {
  auto const path = own_error_file(env);
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (!path.empty()) write_down(path, error_file_for(error, wall_clock_ns() / kSecond));
}

}  // namespace muster::launch
