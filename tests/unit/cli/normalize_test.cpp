// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/normalize.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

namespace muster::launch {
namespace {

using Words = std::vector<std::string>;

nlohmann::json golden(char const* name) {
  std::ifstream in(std::string(MUSTER_GOLDEN_DIR "/") + name);
  REQUIRE(in);
  return nlohmann::json::parse(in);
}

std::map<std::string, std::string> last_values(NormalizedLine const& line) {
  std::map<std::string, std::string> values;
  for (auto const& option : line.options) values[std::string(option.flag->name)] = option.value;
  return values;
}

}  // namespace

TEST_CASE("the table has torchrun's options, spellings, variables and defaults", "[cli]") {
  std::map<std::string, Flag const*> ours;
  for (auto const& flag : kFlags) ours.emplace(flag.name, &flag);
  auto const kinds = std::map<std::string, FlagKind>{{"text", FlagKind::text},
                                                     {"integer", FlagKind::integer},
                                                     {"real", FlagKind::real},
                                                     {"choice", FlagKind::choice},
                                                     {"toggle", FlagKind::toggle}};
  auto const rows = golden("torchrun_flags.json");
  CHECK(rows.size() == 30);
  for (auto const& row : rows) {
    std::string const name = row["name"];
    INFO(name);
    REQUIRE(ours.count(name) == 1);
    auto const& flag = *ours[name];
    CHECK_FALSE(flag.ours);
    CHECK(row["underscored"] == true);
    CHECK(row["variable"] == std::string(flag.variable));
    CHECK(row["letter"] == (flag.letter == 0 ? std::string() : std::string(1, flag.letter)));
    CHECK(kinds.at(row["kind"]) == flag.kind);
    CHECK(row["choices"] == std::string(flag.choices));
    CHECK(row["default"] == std::string(flag.fallback));
    ours.erase(name);
  }
  for (auto const& [name, flag] : ours) {
    INFO(name);
    CHECK(flag->ours);
  }
}

TEST_CASE("every line that torchrun accepts is read as torchrun reads it", "[cli]") {
  for (auto const& row : golden("torchrun_lines.json")) {
    INFO(row.dump());
    auto const line = normalize(row["line"].get<Words>());
    if (row.contains("options")) {
      REQUIRE(line);
      CHECK(last_values(*line) == row["options"].get<std::map<std::string, std::string>>());
      CHECK(line->program == row["program"].get<std::string>());
      CHECK(line->args == row["args"].get<Words>());
    } else if (row["exit"] == 0) {
      REQUIRE(line);
      CHECK(line->help);
    } else if (line) {
      CHECK_FALSE(line->help);
      CHECK_FALSE(line->program);  // parse_run says that the script is missing
    }
  }
}

TEST_CASE("a prefix shared by the two spellings of one option is that option", "[cli]") {
  auto const line = normalize({"--nproc", "2", "--no-py", "--rdzv_end=a:1", "s"});
  REQUIRE(line);
  CHECK(last_values(*line) == std::map<std::string, std::string>{{"nproc-per-node", "2"},
                                                                 {"no-python", ""},
                                                                 {"rdzv-endpoint", "a:1"}});
}

TEST_CASE("a prefix of several options is refused and lists them", "[cli]") {
  auto const line = normalize({"--master", "1", "s"});
  REQUIRE_FALSE(line);
  CHECK(line.error().what == "ambiguous option: --master could match --master-addr, --master-port");
}

TEST_CASE("muster's own options make no prefix ambiguous that torchrun accepts", "[cli]") {
  auto const line = normalize({"--log-", "x", "--log-le", "debug", "s"});
  REQUIRE(line);
  CHECK(last_values(*line) ==
        std::map<std::string, std::string>{{"log-dir", "x"}, {"log-level", "debug"}});
}

TEST_CASE("nothing after the script is looked at", "[cli]") {
  Words const rest{"--nproc", "2", "--nproc_per_node=8", "--master", "--unknown", "-h"};
  Words words{"s.py"};
  words.insert(words.end(), rest.begin(), rest.end());
  auto const line = normalize(words);
  REQUIRE(line);
  CHECK(line->args == rest);
  CHECK(line->options.empty());
}

TEST_CASE("an unknown option suggests the nearest", "[cli]") {
  auto line = normalize({"--nproc-per-nod", "2", "s"});
  CHECK(line);  // a prefix
  line = normalize({"--nprocs-per-node", "2", "s"});
  REQUIRE_FALSE(line);
  CHECK(to_string(line.error()) ==
        "unrecognized option: --nprocs-per-node (did you mean --nproc-per-node?)");
  line = normalize({"--max_retarts=2", "s"});
  REQUIRE_FALSE(line);
  CHECK(line.error().hint == "did you mean --max-restarts?");
  line = normalize({"--learning-rate=3", "s"});
  REQUIRE_FALSE(line);
  CHECK(line.error().hint == "options of the script go after the script");
}

TEST_CASE("the last of a repeated option wins, and toggles may repeat", "[cli]") {
  auto const line = normalize({"--role=a", "-m", "-m", "--role", "b", "s"});
  REQUIRE(line);
  CHECK(last_values(*line) == std::map<std::string, std::string>{{"role", "b"}, {"module", ""}});
}

TEST_CASE("values that are missing or unwanted are named", "[cli]") {
  CHECK(normalize({"--nnodes"}).error().what == "option --nnodes: expected one value");
  CHECK(normalize({"-t", "--role", "x", "s"}).error().what == "option --tee: expected one value");
  CHECK(normalize({"--standalone=1", "s"}).error().what ==
        "option --standalone takes no value, but got '1'");
}

}  // namespace muster::launch
