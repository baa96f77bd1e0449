// SPDX-License-Identifier: Apache-2.0
// Three steps: normalize() takes argparse's liberties out of the line, CLI11 checks kinds and
// choices and lets the last of repeated options win, validate() knows what values mean. Only
// options that occur are registered with CLI11: building all of them would cost more than
// everything else.
#include "launcher/cli/parse.hpp"

#include "launcher/cli/help.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/validate.hpp"
#include "launcher/cli/values.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace muster::launch {
namespace {

EarlyExit usage_error(Caller const& caller, std::string const& text) {
  return {
      2, {}, usage_text(caller.program) + std::string(caller.program) + ": error: " + text + "\n"};
}

EarlyExit bad_value(Caller const& caller, Error const& error) {
  return {1, {}, std::string(caller.program) + ": error: " + to_string(error) + "\n"};
}

std::string kind_problem(Flag const& flag, std::string const& text) {
  if (flag.kind == FlagKind::integer && !python_int(text)) return "'" + text + "' is no integer";
  if (flag.kind == FlagKind::real && !python_real(text)) return "'" + text + "' is no number";
  if (flag.kind == FlagKind::choice) {
    auto const choices = split(flag.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) == choices.end())
      return "'" + text + "' is none of " + std::string(flag.choices);
  }
  return {};
}

// The variables of options that the line does not name, as if they had been written before it. An
// empty variable counts as unset: that is how job templates leave an option out.
std::vector<GivenOption> from_variables(std::vector<GivenOption> const& given, EnvView const& env) {
  std::vector<GivenOption> defaults;
  for (auto const& flag : kFlags) {
    if (flag.variable.empty()) continue;
    bool const named = std::any_of(given.begin(), given.end(),
                                   [&](GivenOption const& option) { return option.flag == &flag; });
    auto const value = env.get(flag.variable);
    if (!named && value && !value->empty()) defaults.push_back({&flag, std::string(*value)});
  }
  return defaults;
}

// Toggles from variables are torchrun's bool(int(value)).
Result<bool> toggle_value(GivenOption const& option) {
  if (option.value.empty()) return true;
  auto const number = python_int(option.value);
  if (!number)
    return Error{Errc::bad_input,
                 std::string(option.flag->variable) + "='" + option.value + "' is neither 0 nor 1",
                 "set it to 1, or unset it"};
  return *number != 0;
}

// Throws CLI::ParseError, as CLI11 does.
void run_cli11(std::vector<GivenOption> const& options, RawOptions& raw) {
  CLI::App app;
  app.set_help_flag();
  std::vector<std::string> words;
  for (auto const& option : options) {
    auto const& flag = *option.flag;
    auto const name = "--" + std::string(flag.name);
    if (flag.kind == FlagKind::toggle) {
      raw.toggles.emplace(flag.name);
      continue;
    }
    words.push_back(name);
    words.push_back(option.value);
    if (raw.values.count(flag.name) != 0) continue;
    auto* const registered = app.add_option(name, raw.values[std::string(flag.name)]);
    registered->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    registered->check(
        CLI::Validator([&flag](std::string& text) { return kind_problem(flag, text); }, ""));
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  app.parse(std::move(words));
}

std::variant<RawOptions, EarlyExit> collect(Caller const& caller, NormalizedLine line,
                                            EnvView const& env) {
  auto options = from_variables(line.options, env);
  RawOptions raw;
  for (auto const& option : line.options) options.push_back(option);
  std::vector<GivenOption> kept;
  for (auto& option : options) {
    if (option.flag->kind == FlagKind::toggle) {
      auto const on = toggle_value(option);
      if (!on) return bad_value(caller, on.error());
      if (!*on) continue;
    }
    kept.push_back(std::move(option));
  }
  try {
    run_cli11(kept, raw);
  } catch (CLI::ParseError const& error) {
    return usage_error(caller, error.what());
  }
  bool const asks_only = raw.toggles.count("print-ports") != 0;
  if (!line.program && !asks_only)
    return usage_error(caller, "the script is missing; it comes after the options");
  raw.program = std::move(line.program).value_or("");
  raw.args = std::move(line.args);
  return raw;
}

}  // namespace

ParseOutcome parse_run(Caller const& caller, std::vector<std::string> const& args,
                       EnvView const& env) {
  auto line = normalize(args);
  if (!line) return usage_error(caller, to_string(line.error()));
  if (line->help) return EarlyExit{0, help_text(caller.program), {}};
  auto collected = collect(caller, *std::move(line), env);
  if (auto* const early = std::get_if<EarlyExit>(&collected)) return std::move(*early);
  auto options = validate(std::get<RawOptions>(collected), env, caller.fresh_run_id);
  if (!options) return bad_value(caller, options.error());
  return *std::move(options);
}

}  // namespace muster::launch
