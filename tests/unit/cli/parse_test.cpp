// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/parse.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;
using Words = std::vector<std::string>;

ParseOutcome parse(Words const& args, Map variables = {}) {
  return parse_run(Caller{"muster run", "fresh"}, args, EnvView(std::move(variables)));
}

RunOptions options(Words const& args, Map variables = {}) {
  auto outcome = parse(args, std::move(variables));
  if (auto const* early = std::get_if<EarlyExit>(&outcome)) FAIL(early->err << early->out);
  return std::get<RunOptions>(std::move(outcome));
}

EarlyExit early(Words const& args, Map variables = {}) {
  auto outcome = parse(args, std::move(variables));
  REQUIRE(std::holds_alternative<EarlyExit>(outcome));
  return std::get<EarlyExit>(std::move(outcome));
}

}  // namespace

TEST_CASE("a usual line becomes options", "[cli]") {
  auto const run = options({"--nnodes=1", "--nproc_per_node", "4", "--max-restarts", "3", "-r", "3",
                            "--log_dir=x", "train.py", "--epochs", "5", "--", "--nnodes=9"});
  CHECK(run.nproc.count == 4);
  CHECK(run.max_restarts == 3);
  CHECK(run.redirects.of(0) == StreamSet{true, true});
  CHECK(run.log_dir == "x");
  CHECK(run.program == "train.py");
  CHECK(run.args == Words{"--epochs", "5", "--", "--nnodes=9"});
}

TEST_CASE("to ask for ports no script is needed", "[cli]") {
  auto const asked = options({"--print-ports", "--nnodes=2", "--master-addr=node1"});
  CHECK(asked.print_ports);
  CHECK(asked.program.empty());
  CHECK(options({"--print-ports", "train.py"}).program == "train.py");
  CHECK(early({"--nnodes=2"}).code == 2);
}

TEST_CASE("the line beats the variable, the variable beats the default", "[cli]") {
  CHECK(options({"s"}, {{"PET_MAX_RESTARTS", "2"}}).max_restarts == 2);
  CHECK(options({"--max-restarts=5", "s"}, {{"PET_MAX_RESTARTS", "x"}}).max_restarts == 5);
  CHECK(options({"s"}).max_restarts == 0);
  CHECK(options({"s"}, {{"PET_NPROC_PER_NODE", "3"}}).nproc.count == 3);
  CHECK(options({"s"}, {{"PET_REDIRECTS", "1"}}).redirects.of(0) == StreamSet{true, false});
}

TEST_CASE("toggles come from variables as bool(int(value))", "[cli]") {
  CHECK(options({"m"}, {{"PET_MODULE", "1"}}).entry == EntryKind::module);
  CHECK(options({"m"}, {{"PET_MODULE", "0"}}).entry == EntryKind::script);
  CHECK(options({"-m", "m"}, {{"PET_MODULE", "0"}}).entry == EntryKind::module);
  auto const exit = early({"s"}, {{"PET_STANDALONE", "yes"}});
  CHECK(exit.code == 1);
  CHECK(exit.err ==
        "muster run: error: PET_STANDALONE='yes' is neither 0 nor 1 (set it to 1, or unset it)\n");
}

TEST_CASE("an empty variable counts as unset", "[cli]") {
  CHECK(options({"s"}, {{"PET_NNODES", ""}, {"PET_MAX_RESTARTS", ""}, {"PET_STANDALONE", ""}})
            .nodes_max == 1);
}

TEST_CASE("logs-specs and numa-binding have no variable", "[cli]") {
  CHECK_FALSE(options({"s"}, {{"PET_NUMA_BINDING", "node"}, {"PET_LOGS_SPECS", "x"}}).numa_binding);
}

TEST_CASE("usage errors print usage and exit 2", "[cli]") {
  for (auto const& args :
       {Words{}, Words{"--nnodes"}, Words{"--max-restarts=x", "s"}, Words{"--nnodes=2"},
        Words{"--start-method=foo", "s"}, Words{"--bogus", "s"}, Words{"--master", "s"},
        Words{"--standalone=1", "s"}, Words{"--numa-binding", "die", "s"},
        Words{"--monitor-interval=x", "s"}, Words{"-x", "s"}}) {
    auto const exit = early(args);
    INFO(exit.err);
    CHECK(exit.code == 2);
    CHECK(exit.out.empty());
    CHECK(exit.err.rfind(
              "usage: muster run [options] SCRIPT [arguments of the script]\nmuster run: error: ",
              0) == 0);
  }
  CHECK(early({"s"}, {{"PET_MAX_RESTARTS", "x"}}).code == 2);
  CHECK(early({"--max-restarts=x", "s"}).err.find("--max-restarts: 'x' is no integer") !=
        std::string::npos);
  CHECK(early({"--start-method=foo", "s"}).err.find("'foo' is none of spawn|fork|forkserver") !=
        std::string::npos);
  CHECK(early({}).err.find("the script is missing") != std::string::npos);
}

TEST_CASE("a value that cannot be right is one line and exit 1", "[cli]") {
  auto const exit = early({"--nnodes=3:2", "s"});
  CHECK(exit.code == 1);
  CHECK(exit.err ==
        "muster run: error: --nnodes: '3:2' asks for 3 to 2 nodes; 0 < MIN <= MAX must hold (e.g. "
        "--nnodes=4 or --nnodes=2:4)\n");
}

TEST_CASE("values may begin with a dash or look like lists", "[cli]") {
  CHECK(early({"--max-restarts", "-1", "s"}).code == 1);  // read as a value, then refused
  CHECK(options({"--role=[a,b]", "s"}).role == "[a,b]");
  CHECK(options({"--role=", "s"}).role.empty());
  CHECK(options({"--role=-x", "s"}).role == "-x");
  CHECK(options({"--role=a", "--role=b", "s"}).role == "b");
}

TEST_CASE("help goes to stdout and exits 0", "[cli]") {
  auto const exit = early({"--nnodes=2", "--help", "--bogus"});
  CHECK(exit.code == 0);
  CHECK(exit.err.empty());
  CHECK(exit.out.rfind("usage: muster run", 0) == 0);
  CHECK(options({"s", "--help"}).args == Words{"--help"});
}

}  // namespace muster::launch
