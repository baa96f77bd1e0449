// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/failure_report.hpp"

#include <nlohmann/json.hpp>

namespace muster::launch {
namespace {

using nlohmann::json;

std::string_view name_of(EndedBy by) {
  switch (by) {
    case EndedBy::itself:
      return "itself";
    case EndedBy::launcher:
      return "launcher";
    case EndedBy::peer_lost:
      return "peer_lost";
  }
  return "itself";
}

EndedBy ended_by_from(std::string const& name) {
  if (name == "launcher") return EndedBy::launcher;
  if (name == "peer_lost") return EndedBy::peer_lost;
  return EndedBy::itself;
}

json to_object(FailedWorker const& worker) {
  return json{{"rank", worker.rank},
              {"local_rank", worker.local_rank},
              {"pid", worker.pid},
              {"exit_code", worker.exit_code},
              {"signal", worker.signal},
              {"ended_by", name_of(worker.ended_by)},
              {"out_of_memory", worker.out_of_memory},
              {"boot_ns", worker.boot_ns},
              {"wall_ns", worker.wall_ns},
              {"error_file", worker.error_file},
              {"message", worker.message},
              {"traceback", worker.traceback},
              {"error_time_s", worker.error_time_s},
              {"stderr_tail", worker.stderr_tail},
              {"stdout_log", worker.stdout_log},
              {"stderr_log", worker.stderr_log}};
}

FailedWorker worker_from(json const& object) {
  FailedWorker worker;
  worker.rank = object.value("rank", 0);
  worker.local_rank = object.value("local_rank", 0);
  worker.pid = object.value("pid", 0);
  worker.exit_code = object.value("exit_code", 0);
  worker.signal = object.value("signal", 0);
  worker.ended_by = ended_by_from(object.value("ended_by", std::string("itself")));
  worker.out_of_memory = object.value("out_of_memory", false);
  worker.boot_ns = object.value("boot_ns", std::int64_t{0});
  worker.wall_ns = object.value("wall_ns", std::int64_t{0});
  worker.error_file = object.value("error_file", std::string());
  worker.message = object.value("message", std::string());
  worker.traceback = object.value("traceback", std::string());
  worker.error_time_s = object.value("error_time_s", std::int64_t{0});
  worker.stderr_tail = object.value("stderr_tail", std::vector<std::string>());
  worker.stdout_log = object.value("stdout_log", std::string());
  worker.stderr_log = object.value("stderr_log", std::string());
  return worker;
}

NodeReport report_from(json const& object) {
  NodeReport report;
  report.host = object.value("host", std::string());
  report.boot_id = object.value("boot_id", std::string());
  report.group_rank = object.value("group_rank", 0);
  report.round = object.value("round", std::uint64_t{0});
  report.restart_count = object.value("restart_count", std::uint32_t{0});
  report.program = object.value("program", std::string());
  if (auto const workers = object.find("workers"); workers != object.end())
    for (auto const& worker : *workers) report.workers.push_back(worker_from(worker));
  return report;
}

}  // namespace

std::string to_json(NodeReport const& report) {
  json workers = json::array();
  for (auto const& worker : report.workers) workers.push_back(to_object(worker));
  json const object = {{"host", report.host},
                       {"boot_id", report.boot_id},
                       {"group_rank", report.group_rank},
                       {"round", report.round},
                       {"restart_count", report.restart_count},
                       {"program", report.program},
                       {"workers", std::move(workers)}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<NodeReport> node_report_from_json(std::string_view text) {
  auto const object = json::parse(text, nullptr, false);
  if (!object.is_object())
    return Error{Errc::protocol,
                 "a failure report of " + std::to_string(text.size()) + " bytes is no JSON object",
                 {}};
  try {
    return report_from(object);
  } catch (json::exception const& error) {
    return Error{Errc::protocol,
                 std::string("a failure report has a field of another type: ") + error.what(),
                 {}};
  }
}

int exit_code_of(FailedWorker const& worker) {
  return worker.signal != 0 ? 128 + worker.signal : worker.exit_code;
}

}  // namespace muster::launch
