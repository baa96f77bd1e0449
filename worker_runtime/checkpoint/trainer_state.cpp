// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/trainer_state.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace muster::worker {
namespace {

using Json = nlohmann::ordered_json;

Error corrupt(std::string const& name, std::string const& seen) {
  return Error{Errc::corrupt, name + ": " + seen, "use an earlier checkpoint"};
}

Result<std::uint64_t> number(Json const& object, char const* key, std::string const& name) {
  auto const found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned())
    return corrupt(name, "\"" + std::string(key) + "\" is not a number");
  return found->get<std::uint64_t>();
}

Result<std::int64_t> signed_number(Json const& object, char const* key, std::string const& name) {
  MUSTER_TRY(auto const value, number(object, key, name));
  if (value > std::uint64_t{INT64_MAX})
    return corrupt(name, "\"" + std::string(key) + "\" is too large");
  return static_cast<std::int64_t>(value);
}

Result<SamplerState> parse_sampler(Json const& said, std::string const& name) {
  if (!said.is_object()) return corrupt(name, "\"sampler\" is not an object");
  SamplerState state;
  MUSTER_TRY(state.size, signed_number(said, "size", name));
  MUSTER_TRY(state.seed, number(said, "seed", name));
  MUSTER_TRY(state.epoch, signed_number(said, "epoch", name));
  MUSTER_TRY(state.consumed, signed_number(said, "consumed", name));
  return state;
}

}  // namespace

Result<std::string> to_json(TrainerState const& state) {
  for (auto const& [key, value] : state.schedule)
    if (!std::isfinite(value))
      return Error{Errc::non_finite,
                   "the schedule's \"" + key + "\" is not finite and cannot be saved", ""};
  Json whole{{"step", state.step},        {"epoch", state.epoch}, {"samples", state.samples},
             {"seed", state.seed},        {"round", state.round}, {"sampler", nullptr},
             {"schedule", Json::object()}};
  if (state.sampler)
    whole["sampler"] = {{"size", state.sampler->size},
                        {"seed", state.sampler->seed},
                        {"epoch", state.sampler->epoch},
                        {"consumed", state.sampler->consumed}};
  for (auto const& [key, value] : state.schedule) whole["schedule"][key] = value;
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TrainerState> parse_trainer_state(std::string_view text, std::string const& name) {
  auto const said = Json::parse(text, nullptr, false);
  if (said.is_discarded() || !said.is_object()) return corrupt(name, "no JSON object");
  TrainerState state;
  MUSTER_TRY(state.step, number(said, "step", name));
  MUSTER_TRY(state.epoch, number(said, "epoch", name));
  MUSTER_TRY(state.samples, number(said, "samples", name));
  MUSTER_TRY(state.seed, number(said, "seed", name));
  MUSTER_TRY(state.round, number(said, "round", name));
  auto const sampler = said.find("sampler");
  if (sampler != said.end() && !sampler->is_null()) {
    MUSTER_TRY(state.sampler, parse_sampler(*sampler, name));
  }
  auto const schedule = said.find("schedule");
  if (schedule == said.end() || !schedule->is_object())
    return corrupt(name, "\"schedule\" is not an object");
  for (auto const& [key, value] : schedule->items()) {
    if (!value.is_number()) return corrupt(name, "schedule \"" + key + "\" is not a number");
    state.schedule.emplace(key, value.get<double>());
  }
  return state;
}

}  // namespace muster::worker
