// SPDX-License-Identifier: Apache-2.0
// JSON as Python's json.dumps writes it, read as any JSON is.

#include "rendezvous/torchrun/round_keys.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace muster::torchrun {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 8'192;
constexpr std::size_t kLongestNote = 1'000'000;
constexpr std::uint32_t kHighestExitCode = 255;
constexpr std::uint32_t kMostWorkers = 10'000'000;  // sums stay far from their type's end

Error odd(std::string const& what, std::string const& text) {
  return {Errc::protocol, "torchrun's " + what + " is of another form: " + text.substr(0, 80),
          "other agents may be of a PyTorch release before 2.4, or after those that muster knows"};
}

bool take(json const& from, std::uint32_t& out) {
  if (!from.is_number_unsigned() || from.get<std::uint64_t>() > kMostWorkers) return false;
  out = from.get<std::uint32_t>();
  return true;
}

}  // namespace

std::string state_key(std::string const& run_id) {
  return std::string(kStateKeyPrefix) + run_id;
}

RoundKeys::RoundKeys(std::string const& run_id, std::int64_t round)
    : prefix_(state_key(run_id) + "." + std::to_string(round) + "/") {
  master_addr = prefix_ + "MASTER_ADDR";
  master_port = prefix_ + "MASTER_PORT";
  num_members = prefix_ + "torchelastic/agent/terminal_state/num_members";
  last_member = prefix_ + "torchelastic/agent/terminal_state/last_member";
  store_owner = prefix_ + "muster/store_owner";
}

std::string RoundKeys::role_info(std::size_t group_rank) const {
  return prefix_ + "torchelastic/role_info/" + std::to_string(group_rank);
}

std::string RoundKeys::assigned_ranks(std::size_t group_rank) const {
  return prefix_ + "torchelastic/assigned_ranks/" + std::to_string(group_rank);
}

std::string end_note_key(std::string const& run_id) {
  return state_key(run_id) + "/muster/end";
}

std::string write_end_note(EndNote const& note) {
  json object;
  object["exit_code"] = note.exit_code;
  object["why"] = note.why;
  object["reports"] = note.reports;
  auto text = object.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() <= kLongestNote) return text;
  object["reports"] = json::array();
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<EndNote> read_end_note(std::string const& text) {
  auto const object = text.size() <= kLongestNote ? json::parse(text, nullptr, false)
                                                  : json(json::value_t::discarded);
  EndNote note;
  std::uint32_t code = 0;
  if (!object.is_object() || !object.contains("exit_code") || !take(object["exit_code"], code) ||
      code > kHighestExitCode || !object.contains("why") || !object["why"].is_string() ||
      !object.contains("reports") || !object["reports"].is_array())
    return std::nullopt;
  note.exit_code = static_cast<int>(code);
  note.why = object["why"].get<std::string>();
  for (auto const& report : object["reports"]) {
    if (!report.is_string()) return std::nullopt;
    note.reports.push_back(report.get<std::string>());
  }
  return note;
}

std::string write_role_info(RoleInfo const& info, std::uint32_t group_rank) {
  json object;
  object["role"] = info.role;
  object["rank"] = group_rank;
  object["local_world_size"] = info.local_world_size;
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

Result<RoleInfo> read_role_info(std::string const& text) {
  auto const object =
      text.size() <= kLongest ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
  RoleInfo info;
  if (!object.is_object() || !object.contains("role") || !object["role"].is_string() ||
      !object.contains("local_world_size") ||
      !take(object["local_world_size"], info.local_world_size))
    return odd("role_info", text);
  info.role = object["role"].get<std::string>();
  return info;
}

std::vector<AssignedRanks> assign_ranks(std::vector<RoleInfo> const& by_group_rank) {
  std::map<std::string, std::uint32_t> role_sizes, role_next;
  std::uint32_t world = 0;
  for (auto const& info : by_group_rank) {
    role_sizes[info.role] += info.local_world_size;
    world += info.local_world_size;
  }
  std::vector<AssignedRanks> all;
  std::uint32_t next = 0;
  for (auto const& info : by_group_rank) {
    auto& in_role = role_next[info.role];
    all.push_back({next, world, in_role, role_sizes[info.role]});
    next += info.local_world_size;
    in_role += info.local_world_size;
  }
  return all;
}

std::string write_assigned_ranks(AssignedRanks const& ranks) {
  return json::array(
             {ranks.rank_base, ranks.world_size, ranks.role_rank_base, ranks.role_world_size})
      .dump();
}

Result<AssignedRanks> read_assigned_ranks(std::string const& text) {
  auto const list =
      text.size() <= kLongest ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
  AssignedRanks ranks;
  if (!list.is_array() || list.size() != 4 || !take(list[0], ranks.rank_base) ||
      !take(list[1], ranks.world_size) || !take(list[2], ranks.role_rank_base) ||
      !take(list[3], ranks.role_world_size))
    return odd("assigned_ranks", text);
  return ranks;
}

}  // namespace muster::torchrun
