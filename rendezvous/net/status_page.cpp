// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/status_page.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"

#include <nlohmann/json.hpp>

namespace muster::net {
namespace {

constexpr std::size_t kWaitedKeysShown = 100;

// Keys are bytes; JSON is UTF-8. What is not becomes "?".
std::string printable(std::string const& key) {
  auto const text =
      nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(text).get<std::string>();
}

nlohmann::json requests_of(store::Counters const& counters) {
  nlohmann::json requests;
  for (std::size_t i = 0; i < wire::kOpcodeCount; ++i)
    if (counters.requests[i] > 0)
      requests[std::string(wire::kOpcodeNames[i])] = counters.requests[i];
  return requests;
}

nlohmann::json waits_of(store::Engine const& engine) {
  auto waits = nlohmann::json::array();
  for (auto const& [key, count] : engine.waiters().waited_keys(kWaitedKeysShown)) {
    nlohmann::json entry;
    entry["key"] = printable(key);
    entry["waiters"] = count;
    waits.push_back(std::move(entry));
  }
  return waits;
}

nlohmann::json jobs_of(JobReasons const& reasons) {
  auto jobs = nlohmann::json::object();
  for (auto const& [run_id, why] : reasons)
    jobs[printable(run_id)] = nlohmann::json::parse(membership::to_json(why, now()));
  return jobs;
}

}  // namespace

std::string status_json(Server const& server, JobReasons const& jobs) {
  auto const& engine = server.engine();
  nlohmann::json status;
  status["endpoint"] = to_text(server.endpoint());
  status["connections"] = server.connections();
  status["keys"] = engine.key_count();
  status["key_bytes"] = engine.counters().key_bytes;
  status["value_bytes"] = engine.counters().value_bytes;
  status["queued_values"] = engine.counters().queued_values;
  status["waiters"] = engine.waiters().waits();
  status["waited_keys"] = waits_of(engine);
  status["requests"] = requests_of(engine.counters());
  status["jobs"] = jobs_of(jobs);
  return status.dump(2) + "\n";
}

}  // namespace muster::net
