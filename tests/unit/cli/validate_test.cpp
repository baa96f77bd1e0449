// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/validate.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace muster::launch {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;

Result<RunOptions> checked(Map values, std::set<std::string, std::less<>> toggles = {},
                           EnvView const& env = {}) {
  RawOptions raw;
  raw.values = std::move(values);
  raw.toggles = std::move(toggles);
  raw.program = "train.py";
  raw.args = {"--lr=1"};
  return validate(raw, env, "fresh-id");
}

RunOptions good(Map values, std::set<std::string, std::less<>> toggles = {},
                EnvView const& env = {}) {
  auto options = checked(std::move(values), std::move(toggles), env);
  if (!options) FAIL(to_string(options.error()));
  return *std::move(options);
}

Error bad(Map values, std::set<std::string, std::less<>> toggles = {}, EnvView const& env = {}) {
  auto const options = checked(std::move(values), std::move(toggles), env);
  REQUIRE_FALSE(options);
  return options.error();
}

}  // namespace

TEST_CASE("without options muster runs one worker on this node", "[cli]") {
  auto const options = good({});
  CHECK(options.nodes_min == 1);
  CHECK(options.nodes_max == 1);
  CHECK(options.nproc == NprocSpec{});
  CHECK(options.rendezvous == Rendezvous::local);
  CHECK_FALSE(options.endpoint);
  CHECK(options.run_id == "fresh-id");
  CHECK(options.max_restarts == 0);
  CHECK(options.shutdown_timeout == std::chrono::seconds(30));
  CHECK(options.signals_text == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  CHECK(options.signals_to_handle == std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  CHECK(options.role == "default");
  CHECK(options.entry == EntryKind::script);
  CHECK(options.program == "train.py");
  CHECK(options.args == std::vector<std::string>{"--lr=1"});
  CHECK_FALSE(options.log_dir);
  CHECK_FALSE(options.local_ranks_filter);
  CHECK(options.log_level == log::Level::warning);
  CHECK(options.warnings.empty());
}

TEST_CASE("values that cannot be right name the option and the remedy", "[cli]") {
  for (auto const& [name, value] : Map{{"nnodes", "2:1"},
                                       {"nproc-per-node", "many"},
                                       {"max-restarts", "-1"},
                                       {"monitor-interval", "0"},
                                       {"shutdown-timeout", "-5"},
                                       {"redirects", "7"},
                                       {"tee", "x"},
                                       {"local-ranks-filter", "a"},
                                       {"numa-binding", "die"},
                                       {"log-level", "loud"},
                                       {"local-addr", "a b"},
                                       {"store-ports", "29600"},
                                       {"rdzv-conf", "x"},
                                       {"master-port", "70000"}}) {
    auto const error = bad({{name, value}});
    INFO(to_string(error));
    CHECK(error.code == Errc::bad_input);
    CHECK(error.what.find("--" + name) != std::string::npos);
    CHECK_FALSE(error.hint.empty());
  }
}

TEST_CASE("what is a Python plug-in in torchrun is refused by name", "[cli]") {
  auto const refused = [](Map values, std::string const& word) {
    auto const error = bad(std::move(values));
    CHECK(error.code == Errc::unsupported);
    INFO(error.what);
    CHECK(error.what.find(word) != std::string::npos);
    CHECK_FALSE(error.hint.empty());
  };
  refused({{"logs-specs", "mine"}}, "'mine'");
  refused({{"event-log-handler", "scuba"}}, "'scuba'");
  refused({{"rdzv-backend", "etcd"}}, "etcd");
  refused({{"rdzv-backend", "etcd-v2"}}, "etcd-v2");
  refused({{"rdzv-backend", "zeus"}}, "'zeus'");
  refused({{"rdzv-backend", "c10d"}, {"rdzv-conf", "store_type=file"}}, "store_type=file");
  refused({{"nproc-per-node", "xpu"}}, "xpu");
  CHECK(good({{"logs-specs", "default"}}).program == "train.py");
  auto const console = good({{"event-log-handler", "console"}});
  REQUIRE(console.warnings.size() == 1);
  CHECK(console.warnings.front().find("has no effect") != std::string::npos);
  CHECK(bad({{"rdzv-backend", "c1od"}}).hint == "did you mean c10d?");
}

TEST_CASE("what is said about networks and ports is kept, and told where it has no effect",
          "[cli]") {
  auto const several = good({{"nnodes", "2"},
                             {"rdzv-backend", "c10d"},
                             {"rdzv-endpoint", "node1"},
                             {"network", "ib0"},
                             {"store-ports", "29600-29620"}});
  CHECK(several.network == "ib0");
  CHECK(several.store_ports == std::vector<PortRange>{{29600, 29620}});
  CHECK(several.warnings.empty());
  auto const alone = good({{"network", "ib0"}, {"store-ports", "29600-29620"}});
  REQUIRE(alone.warnings.size() == 1);
  CHECK(alone.warnings.front().find("--network has no effect") == 0);
  auto const fixed =
      good({{"nnodes", "2"}, {"master-addr", "node1"}, {"store-ports", "29600-29620"}});
  REQUIRE(fixed.warnings.size() == 1);
  CHECK(fixed.warnings.front() ==
        "--store-ports has no effect: the workers' store is at port 29500, that of the endpoint");
}

TEST_CASE("with torchrun's agents its rules hold, and what contradicts them is refused", "[cli]") {
  Map const fleet{{"nnodes", "2:4"},
                  {"rdzv-backend", "c10d"},
                  {"rdzv-endpoint", "node1"},
                  {"rdzv-conf", "peers=torchrun"}};
  auto const with = [&](std::string const& name, std::string const& value) {
    auto all = fleet;
    all[name] = value;
    return all;
  };
  CHECK_FALSE(good({}).settings.torchrun_peers);
  auto const options = good(fleet);
  CHECK(options.settings.torchrun_peers);
  CHECK(options.settings.last_call_timeout == std::chrono::seconds{30});
  CHECK(options.settings.keep_alive_interval == std::chrono::seconds{5});
  CHECK(options.settings.keep_alive_attempts == 3);
  CHECK(options.warnings.empty());
  auto const without_effect = good(with("rdzv-conf", "peers=torchrun,scale_interval=5"));
  REQUIRE(without_effect.warnings.size() == 1);
  CHECK(without_effect.warnings.front().find("scale_interval has no effect") != std::string::npos);
  auto const ranked = good(with("node-rank", "1"));
  REQUIRE(ranked.warnings.size() == 1);
  CHECK(ranked.warnings.front().find("--node-rank has no effect") == 0);
  CHECK(bad(with("rdzv-conf", "peers=etcd")).what.find("'etcd' is unknown") != std::string::npos);
  CHECK(bad(with("rdzv-endpoint", "node1,node2")).what.find("2 places") != std::string::npos);
  CHECK(bad({{"nnodes", "2"}, {"master-addr", "node1"}, {"rdzv-conf", "peers=torchrun"}})
            .what.find("contradicts --rdzv-backend=static") != std::string::npos);
}

TEST_CASE("TLS is all of its three files or none", "[cli]") {
  CHECK_FALSE(good({}).tls);
  auto const all = good({{"tls-cert", "c.pem"}, {"tls-key", "k.pem"}, {"tls-ca", "a.pem"}});
  CHECK(all.tls == TlsPaths{"c.pem", "k.pem", "a.pem"});
  CHECK(bad({{"tls-cert", "c.pem"}}).what.find("1 of them") != std::string::npos);
  auto const two = bad({{"tls-key", "k.pem"}, {"tls-ca", "a.pem"}});
  CHECK(two.what.find("2 of them") != std::string::npos);
}

TEST_CASE("a token's file and an open store are taken as they are", "[cli]") {
  CHECK_FALSE(good({}).token_file);
  CHECK_FALSE(good({}).open_store);
  CHECK(good({{"token-file", "secret"}}).token_file == "secret");
  CHECK(good({}, {"open-store"}).open_store);
  EnvView const env(Map{{"MUSTER_TOKEN", "0123456789abcdef"}});
  CHECK(good({{"nnodes", "2"}, {"master-addr", "node1"}}, {}, env).warnings.empty());
}

TEST_CASE("run-path beats the others, module and no-python exclude each other", "[cli]") {
  CHECK(good({}, {"module"}).entry == EntryKind::module);
  CHECK(good({}, {"no-python"}).entry == EntryKind::no_python);
  CHECK(good({}, {"run-path", "no-python", "module"}).entry == EntryKind::run_path);
  CHECK(bad({}, {"module", "no-python"}).what.find("exclude each other") != std::string::npos);
}

TEST_CASE("logs: /dev/null means no files at all", "[cli]") {
  CHECK(good({{"log-dir", "/dev/null"}}).log_files_off);
  CHECK_FALSE(good({{"log-dir", "/dev/null"}}).log_dir);
  CHECK(good({{"log-dir", "logs"}}).log_dir == "logs");
  auto const options = good(
      {{"redirects", "0:1"},
       {"tee", "12:3"},
       {"local-ranks-filter", "0,12"},
       {"duplicate-stdout-filters", "a,,b"}},
      {},
      EnvView(Map{{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[${rank}] "}, {"LOGLEVEL", "INFO"}}));
  CHECK(options.redirects.of(0) == StreamSet{true, false});
  CHECK(options.tee.of(12) == StreamSet{true, true});
  CHECK(options.local_ranks_filter == std::set<int>{0, 12});
  CHECK(options.stdout_filters == std::vector<std::string>{"a,b"});
  CHECK(options.log_line_prefix_template == "[${rank}] ");
  CHECK(options.log_level == log::Level::info);
}

TEST_CASE("the shutdown timeout comes from the option, then from torchrun's variable", "[cli]") {
  EnvView const env(Map{{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}});
  CHECK(good({}, {}, env).shutdown_timeout == std::chrono::seconds(7));
  CHECK(good({{"shutdown-timeout", "0"}}, {}, env).shutdown_timeout == std::chrono::seconds(0));
  CHECK(bad({}, {}, EnvView(Map{{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "soon"}}))
            .what.find("TORCH_ELASTIC_SHUTDOWN_TIMEOUT='soon'") == 0);
}

TEST_CASE("unknown signals are a warning, as in torchrun", "[cli]") {
  auto const options = good({{"signals-to-handle", "SIGTERM,SIGFOO"}});
  CHECK(options.signals_to_handle == std::vector<int>{SIGTERM});
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].find("'SIGFOO'") != std::string::npos);
}

TEST_CASE("what is done about logs that nobody takes is one of three", "[cli]") {
  CHECK(good({}).log_stall == LogStall::drop);
  CHECK(good({{"log-stall", "block"}}).log_stall == LogStall::block);
  CHECK(good({{"log-stall", "stop"}}).log_stall == LogStall::stop);
}

TEST_CASE("an empty script name is told from a missing one", "[cli]") {
  RawOptions raw;
  auto const options = validate(raw, {}, "x");
  REQUIRE_FALSE(options);
  CHECK(options.error().what == "the script's name is empty");
}

}  // namespace muster::launch
