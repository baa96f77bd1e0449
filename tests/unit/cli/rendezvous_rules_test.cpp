// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/rendezvous_rules.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;
using std::chrono::seconds;

Result<RunOptions> settled(Map values, bool standalone = false, EnvView const& env = {}) {
  RawOptions raw;
  raw.values = std::move(values);
  if (standalone) raw.toggles.insert("standalone");
  raw.program = "s";
  return validate(raw, env, "fresh");
}

RunOptions good(Map values, bool standalone = false, EnvView const& env = {}) {
  auto options = settled(std::move(values), standalone, env);
  if (!options) FAIL(to_string(options.error()));
  return *std::move(options);
}

std::string why_not(Map values, bool standalone = false, EnvView const& env = {}) {
  auto const options = settled(std::move(values), standalone, env);
  REQUIRE_FALSE(options);
  CHECK_FALSE(options.error().hint.empty());
  return options.error().what;
}

}  // namespace

TEST_CASE("standalone is one node, whatever else is said about meeting", "[cli]") {
  auto const options =
      good({{"rdzv-backend", "static"}, {"rdzv-endpoint", "far:1"}, {"nnodes", "1:4"}}, true);
  CHECK(options.rendezvous == Rendezvous::local);
  CHECK(options.nodes_max == 1);
  CHECK_FALSE(options.endpoint);
  CHECK(options.run_id == "fresh");
  CHECK(good({{"rdzv-id", "mine"}}, true).run_id == "mine");
  CHECK(why_not({{"nnodes", "2"}}, true) ==
        "--standalone is one node, but --nnodes asks for at least 2");
}

TEST_CASE("static on one node listens where it was told, else anywhere", "[cli]") {
  CHECK_FALSE(good({}).endpoint);
  CHECK_FALSE(good({{"master-addr", "10.0.0.1"}}).endpoint);
  CHECK(good({{"master-port", "5000"}}).endpoint == Endpoint{"127.0.0.1", 5000});
  CHECK(good({{"master-port", "5000"}}).run_id == "none");
  CHECK(good({{"rdzv-endpoint", "h:7"}}).endpoint == Endpoint{"h", 7});
  CHECK(good({{"rdzv-endpoint", "h"}}).endpoint == Endpoint{"h", 29500});
}

TEST_CASE("c10d on one node needs no port from anybody", "[cli]") {
  auto const options = good({{"rdzv-backend", "c10d"}, {"rdzv-endpoint", "localhost:0"}});
  CHECK(options.rendezvous == Rendezvous::local);
  CHECK_FALSE(options.endpoint);
}

TEST_CASE("static on several nodes takes the endpoint, or master address and port", "[cli]") {
  auto options = good({{"nnodes", "2"}, {"master-addr", "[::1]"}, {"node-rank", "1"}});
  CHECK(options.rendezvous == Rendezvous::static_ranks);
  CHECK(options.endpoint == Endpoint{"::1", 29500});
  CHECK(options.node_rank == 1);
  CHECK(options.settings.join_timeout == seconds(900));
  CHECK(good({{"nnodes", "2"}, {"master-addr", "2001:db8::7"}}).endpoint ==
        Endpoint{"2001:db8::7", 29500});
  options = good({{"nnodes", "2"},
                  {"rdzv-endpoint", "a:1"},
                  {"master-addr", "b"},
                  {"rdzv-conf", "rank=1,timeout=5"}});
  CHECK(options.endpoint == Endpoint{"a", 1});
  CHECK(options.node_rank == 1);
  CHECK(options.settings.join_timeout == seconds(5));
  options = good({{"nnodes", "1:3"}, {"master-addr", "a"}});
  CHECK(options.nodes_min == 3);  // torchrun's static waits for MAX
  CHECK(options.node_rank == 0);
}

TEST_CASE("c10d meets at the endpoint, with torchrun's port unless another is given", "[cli]") {
  auto const options = good({{"nnodes", "2:4"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "a"}});
  CHECK(options.rendezvous == Rendezvous::c10d);
  CHECK(options.endpoint == Endpoint{"a", 29400});
  CHECK(options.nodes_min == 2);
  CHECK(options.nodes_max == 4);
  CHECK_FALSE(options.node_rank);
  CHECK(options.run_id == "none");
  CHECK(options.settings.join_timeout == seconds(600));
  CHECK(options.settings.last_call_timeout == seconds(3));
}

TEST_CASE("the endpoint of c10d may be a list of places", "[cli]") {
  Map values{{"nnodes", "2"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "a:1, b,[::1]:3"}};
  auto const options = good(values);
  CHECK(options.endpoints == std::vector<Endpoint>{{"a", 1}, {"b", 29400}, {"::1", 3}});
  CHECK(options.endpoint == Endpoint{"a", 1});
  values["rdzv-endpoint"] = "a:1";
  CHECK(good(values).endpoints == std::vector<Endpoint>{{"a", 1}});
  values["rdzv-endpoint"] = "a:1,b:1,a:1";
  CHECK(why_not(values).find("'a:1' twice") != std::string::npos);
  values["rdzv-endpoint"] = "a:1,,b:1";
  CHECK(why_not(values).find("empty place") != std::string::npos);
  values["rdzv-endpoint"] = "a:1,b:0";
  CHECK(why_not(values).find("port 0") != std::string::npos);
  values["rdzv-endpoint"] = "a:1,b:1";
  values["rdzv-backend"] = "static";
  CHECK(why_not(values).find("several places") != std::string::npos);
}

TEST_CASE("in Kubernetes a node is known by the name of its pod", "[cli]") {
  Map values{{"nnodes", "2"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "a"}};
  EnvView const pod(Map{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "train-3"}});
  CHECK(good(values).settings.node_id.empty());
  CHECK(good(values, false, EnvView(Map{{"HOSTNAME", "train-3"}})).settings.node_id.empty());
  CHECK(good(values, false, pod).settings.node_id == "train-3");
  values["rdzv-conf"] = "node_id=mine";
  CHECK(good(values, false, pod).settings.node_id == "mine");
}

TEST_CASE("c10d honours a node rank that was given", "[cli]") {
  Map values{{"nnodes", "2"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "a"}, {"node-rank", "1"}};
  CHECK(good(values).node_rank == 1);
  values["node-rank"] = "2";
  CHECK(why_not(values) == "--node-rank=2 is outside of 0..1");
}

TEST_CASE("timeout means join_timeout for c10d, unless both are given", "[cli]") {
  auto const join = [](char const* conf) {
    return good({{"nnodes", "2"},
                 {"rdzv-backend", "c10d"},
                 {"rdzv-endpoint", "a"},
                 {"rdzv-conf", conf}})
        .settings.join_timeout;
  };
  CHECK(join("timeout=30") == seconds(30));
  CHECK(join("timeout=30,join_timeout=40") == seconds(40));
}

TEST_CASE("the other settings keep torchrun's names", "[cli]") {
  auto const settings = good({{"nnodes", "2"},
                              {"rdzv-backend", "c10d"},
                              {"rdzv-endpoint", "a"},
                              {"rdzv-conf",
                               "last_call_timeout=0,close_timeout=4,read_timeout=5,is_host=Yes,"
                               "keep_alive_interval=2,keep_alive_max_attempt=4"}})
                            .settings;
  CHECK(settings.last_call_timeout == seconds(0));
  CHECK(settings.close_timeout == seconds(4));
  CHECK(settings.is_host == true);
  CHECK(settings.dead_after == seconds(8));
  for (auto const* conf :
       {"is_host=maybe", "join_timeout=0", "join_timeout=x", "last_call_timeout=-1",
        "keep_alive_max_attempt=0", "join_timeout=99999999999"}) {
    INFO(conf);
    CHECK(why_not({{"rdzv-conf", conf}, {"rdzv-backend", "c10d"}}).find("--rdzv-conf: ") == 0);
  }
}

TEST_CASE("keys that are options are refused, unknown ones are a warning with the nearest",
          "[cli]") {
  CHECK(why_not({{"rdzv-conf", "run_id=x"}}).find("'run_id'") != std::string::npos);
  auto const options = good({{"rdzv-conf", "join_timout=5,heartbeat_timeout=3"}});
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].find("did you mean join_timeout?") != std::string::npos);
}

TEST_CASE("nodes cannot meet at port 0", "[cli]") {
  CHECK(why_not({{"nnodes", "2"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "a:0"}})
            .find("port 0") != std::string::npos);
}

TEST_CASE("several nodes without an endpoint are warned, in a Slurm job refused", "[cli]") {
  Map const values{{"nnodes", "2"}, {"rdzv-backend", "c10d"}};
  auto const options = good(values);
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].find("2 nodes are to meet at 'localhost'") == 0);
  auto unset_variable = values;
  unset_variable["rdzv-endpoint"] = "";
  CHECK(good(unset_variable).warnings.size() == 1);
  auto const agents_here =
      Map{{"nnodes", "2"}, {"rdzv-backend", "c10d"}, {"rdzv-endpoint", "127.0.0.1:4000"}};
  CHECK(good(agents_here).warnings.empty());
  EnvView const slurm(Map{{"SLURM_JOB_NUM_NODES", "2"}});
  CHECK(why_not(values, false, slurm).find("Slurm job of several nodes") != std::string::npos);
  CHECK(why_not(agents_here, false, slurm).find("Slurm job of several nodes") != std::string::npos);
}

TEST_CASE("MIN with static ranks is a warning that names c10d", "[cli]") {
  auto const options = good({{"nnodes", "1:4"}, {"master-addr", "node1"}});
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].find("--nnodes=1:4 with --rdzv-backend=static") == 0);
  CHECK(good({{"nnodes", "4"}, {"master-addr", "node1"}}).warnings.empty());
  CHECK(good({{"nnodes", "1:4"},
              {"rdzv-backend", "c10d"},
              {"rdzv-endpoint", "node1"},
              {"rdzv-id", "x"}})
            .warnings.empty());
}

TEST_CASE("an empty run id is made up on one node and refused on several", "[cli]") {
  CHECK(good({{"rdzv-id", ""}}).run_id == "fresh");
  CHECK(good({{"rdzv-id", ""}, {"master-port", "5"}}).run_id == "fresh");
  CHECK(why_not({{"rdzv-id", ""}, {"nnodes", "2"}, {"rdzv-endpoint", "a"}})
            .find("--rdzv-id is empty") == 0);
  CHECK(good({{"rdzv-id", "none"}, {"nnodes", "2"}, {"rdzv-endpoint", "a"}}).run_id == "none");
}

TEST_CASE("what others are to keep and to show must be names", "[cli]") {
  CHECK(why_not({{"rdzv-id", "a\x1b[2J"}}).find("--rdzv-id is no name") == 0);
  CHECK(why_not({{"rdzv-id", std::string(1'025, 'x')}}).find("--rdzv-id is no name") == 0);
  CHECK(why_not({{"rdzv-conf", "order_key=rack\t1"}}).find("--rdzv-conf: order_key is no name") ==
        0);
  CHECK(good({{"rdzv-conf", "order_key=rack 1,node_id=n\u00fc"}}).settings.order_key == "rack 1");
}

}  // namespace muster::launch
