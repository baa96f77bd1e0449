// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/rendezvous_conf.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using std::chrono::seconds;

RunOptions with(std::map<std::string, std::string> conf, std::string backend = "c10d") {
  RunOptions options;
  options.nodes_min = 2;
  options.nodes_max = 8;
  options.rdzv_backend = std::move(backend);
  options.rdzv_conf = std::move(conf);
  return options;
}

RendezvousSettings good(std::map<std::string, std::string> conf) {
  auto options = with(std::move(conf));
  auto const read = read_rendezvous_settings(options);
  if (!read) FAIL(to_string(read.error()));
  CHECK(options.warnings.empty());
  return options.settings;
}

std::string why_not(std::map<std::string, std::string> conf, std::string backend = "c10d") {
  auto options = with(std::move(conf), std::move(backend));
  auto const read = read_rendezvous_settings(options);
  REQUIRE_FALSE(read);
  CHECK_FALSE(read.error().hint.empty());
  return read.error().what;
}

}  // namespace

TEST_CASE("how long a node may be silent is said once, in torchrun's words or in one", "[cli]") {
  CHECK_FALSE(good({}).dead_after);
  CHECK(good({{"dead", "2"}}).dead_after == seconds(2));
  CHECK_FALSE(good({{"dead", "2"}}).dead_at_min);
  CHECK(good({{"keep_alive_interval", "2"}, {"keep_alive_max_attempt", "4"}}).dead_after ==
        seconds(8));
  CHECK(good({{"keep_alive_interval", "2"}}).dead_after == seconds(6));
  CHECK(good({{"keep_alive_max_attempt", "2"}}).dead_after == seconds(10));
  CHECK(good({{"dead_at_min", "90"}}).dead_at_min == seconds(90));
  CHECK(why_not({{"dead", "2"}, {"keep_alive_interval", "1"}}).find("twice") != std::string::npos);
  CHECK(why_not({{"dead", "9"}, {"dead_at_min", "8"}}).find("shorter") != std::string::npos);
  CHECK(why_not({{"dead_at_min", "4"}}).find("shorter than dead") != std::string::npos);
  CHECK(why_not({{"keep_alive_interval", "10000000"}, {"keep_alive_max_attempt", "10000000"}})
            .find("is more than 10000000 s") != std::string::npos);
}

TEST_CASE("times are whole seconds: none and fractions are refused by name", "[cli]") {
  for (auto const* key : {"join_timeout", "last_call_timeout", "close_timeout",
                          "keep_alive_interval", "keep_alive_max_attempt", "dead", "dead_at_min",
                          "scale_interval", "membership_changes", "expected"})
    for (auto const* value : {"none", "None", "-1", "0.5", "1e3", "", "10000001"}) {
      INFO(key << "=" << value);
      CHECK(why_not({{key, value}}).find(std::string("--rdzv-conf: ") + key + "='") == 0);
    }
}

TEST_CASE("the quiet period fits into the join time", "[cli]") {
  CHECK(good({{"last_call_timeout", "0"}}).last_call_timeout == seconds(0));
  CHECK(good({{"join_timeout", "2"}}).last_call_timeout == seconds(2));
  CHECK(good({{"join_timeout", "40"}, {"last_call_timeout", "30"}}).last_call_timeout ==
        seconds(30));
  CHECK(why_not({{"join_timeout", "10"}, {"last_call_timeout", "30"}})
            .find("longer than join_timeout") != std::string::npos);
}

TEST_CASE("nodes that are known to come are some of those that may", "[cli]") {
  CHECK(good({}).expected == 0);
  CHECK(good({{"expected", "2"}}).expected == 2);
  CHECK(good({{"expected", "8"}}).expected == 8);
  CHECK(why_not({{"expected", "1"}}).find("outside of --nnodes") != std::string::npos);
  CHECK(why_not({{"expected", "9"}}).find("outside of --nnodes") != std::string::npos);
}

TEST_CASE("rounds that newcomers bring, changes, names and order are settings too", "[cli]") {
  auto const settings = good({{"scale_interval", "0"},
                              {"membership_changes", "7"},
                              {"node_id", "pod-3"},
                              {"order_key", "switch-2"}});
  CHECK(settings.scale_interval == seconds(0));
  CHECK(settings.membership_changes == 7);
  CHECK(settings.node_id == "pod-3");
  CHECK(settings.order_key == "switch-2");
  CHECK(good({}).scale_interval == seconds(30));
  CHECK(why_not({{"node_id", std::string(256, 'n')}}).find("node_id is longer") !=
        std::string::npos);
}

TEST_CASE("a node that never begins a job cannot be its host from the start", "[cli]") {
  CHECK(good({}).may_begin);
  CHECK(good({{"bootstrap", "auto"}}).may_begin);
  CHECK_FALSE(good({{"bootstrap", "never"}}).may_begin);
  CHECK_FALSE(good({{"bootstrap", "never"}, {"is_host", "0"}}).may_begin);
  CHECK(why_not({{"bootstrap", "no"}}).find("'no' is unknown") != std::string::npos);
  CHECK(why_not({{"bootstrap", "never"}, {"is_host", "1"}}).find("is_host=1") != std::string::npos);
  CHECK(why_not({{"bootstrap", "never"}}, "static").find("--rdzv-backend=static") !=
        std::string::npos);
  CHECK(why_not({{"bootstrap", "never"}, {"is_host", "0"}}, "static").find("=static") !=
        std::string::npos);
}

}  // namespace muster::launch
