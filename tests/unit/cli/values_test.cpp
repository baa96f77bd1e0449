// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/values.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace muster::launch {

TEST_CASE("integers are read as Python's int() reads them", "[cli]") {
  CHECK(python_int("12") == 12);
  CHECK(python_int(" +7\n") == 7);
  CHECK(python_int("-3") == -3);
  CHECK(python_int("1_000") == 1000);
  for (auto const* text :
       {"", " ", "_1", "1_", "1__0", "x", "1.0", "--1", "+-1", "-", "0x10", "1 2"}) {
    INFO(text);
    CHECK_FALSE(python_int(text));
  }
}

TEST_CASE("real numbers are read as Python's float() reads them", "[cli]") {
  CHECK(python_real("0.1") == 0.1);
  CHECK(python_real(" 5 ") == 5.0);
  CHECK(python_real("1e-3") == 1e-3);
  CHECK(python_real("3.") == 3.0);
  for (auto const* text : {"", "x", "1s", "inf", "nan", "1,5"}) {
    INFO(text);
    CHECK_FALSE(python_real(text));
  }
}

TEST_CASE("node ranges are N or MIN:MAX with 0 < MIN <= MAX", "[cli]") {
  auto const range = [](char const* text) {
    return parse_node_range(text).value_or(std::pair{0, 0});
  };
  CHECK(range("4") == std::pair{4, 4});
  CHECK(range("2:4") == std::pair{2, 4});
  for (auto const* text : {"", "0", "-1", "4:2", "1:2:3", "a", "1:", ":2", "0:3", "99999999999"}) {
    INFO(text);
    REQUIRE_FALSE(parse_node_range(text));
    CHECK_FALSE(parse_node_range(text).error().hint.empty());
  }
}

TEST_CASE("worker counts are a number above 0, auto, gpu or cpu", "[cli]") {
  CHECK(*parse_nproc("8") == NprocSpec{NprocSpec::Kind::number, 8});
  CHECK(*parse_nproc("gpu") == NprocSpec{NprocSpec::Kind::gpu, 0});
  CHECK(*parse_nproc("auto") == NprocSpec{NprocSpec::Kind::automatic, 0});
  CHECK(*parse_nproc("cpu") == NprocSpec{NprocSpec::Kind::cpu, 0});
  CHECK(parse_nproc("xpu").error().code == Errc::unsupported);
  CHECK(parse_nproc("0").error().code == Errc::bad_input);
  CHECK(parse_nproc("-2").error().code == Errc::bad_input);
  CHECK(parse_nproc("100000").error().code == Errc::bad_input);
  CHECK(parse_nproc("two").error().what == "'two' is neither a number nor auto, gpu or cpu");
}

TEST_CASE("stream specs are one digit or a map of ranks, also of several digits", "[cli]") {
  StreamSet const none, out{true, false}, err{false, true}, both{true, true};
  CHECK(parse_stream_spec("0")->of(5) == none);
  CHECK(parse_stream_spec("3")->of(5) == both);
  auto const map = parse_stream_spec("0:1,10:3,1:2,0:2");
  REQUIRE(map);
  CHECK(map->of(0) == err);  // the last one wins
  CHECK(map->of(1) == err);
  CHECK(map->of(10) == both);
  CHECK(map->of(2) == none);
  CHECK(parse_stream_spec("1")->of(0) == out);
  for (auto const* text :
       {"", "4", "0:4", "0:", ":1", "0:1,", ",0:1", "a:1", "-1:1", "33", "0:1 "}) {
    INFO(text);
    CHECK_FALSE(parse_stream_spec(text));
  }
}

TEST_CASE("filter words: two commas are one comma inside a word", "[cli]") {
  using Words = std::vector<std::string>;
  CHECK(parse_words("").empty());
  CHECK(parse_words("apple,orange") == Words{"apple", "orange"});
  CHECK(parse_words("a,,b,c") == Words{"a,b", "c"});
  CHECK(parse_words("a,") == Words{"a"});  // an empty word would match every line
  CHECK(parse_words(",,,") == Words{","});
}

TEST_CASE("endpoints are host, host:port, or IPv6 with or without brackets", "[cli]") {
  auto const endpoint = [](char const* text) {
    return parse_endpoint(text, 29400).value_or(Endpoint{"?", 1});
  };
  CHECK(endpoint("") == Endpoint{"", 29400});
  CHECK(endpoint("node-1") == Endpoint{"node-1", 29400});
  CHECK(endpoint(" node-1:5 ") == Endpoint{"node-1", 5});
  CHECK(endpoint("10.0.0.1:0") == Endpoint{"10.0.0.1", 0});
  CHECK(endpoint("[::1]:5") == Endpoint{"::1", 5});
  CHECK(endpoint("[fe80::1%eth0]") == Endpoint{"fe80::1%eth0", 29400});
  CHECK(endpoint("::1") == Endpoint{"::1", 29400});
  CHECK(endpoint("2001:db8::5:29500") == Endpoint{"2001:db8::5", 29500});  // as torchrun
  for (auto const* text :
       {":5", "a:b", "a:", "a:65536", "a:-1", "a b:5", "a/b", "[]", "a:999999", "http://a"}) {
    INFO(text);
    CHECK_FALSE(parse_endpoint(text, 29400));
  }
}

TEST_CASE("rendezvous settings are key=value pairs", "[cli]") {
  using Map = std::map<std::string, std::string>;
  CHECK(*parse_rdzv_conf("  ") == Map{});
  CHECK(*parse_rdzv_conf("a=1, b = x=y ") == Map{{"a", "1"}, {"b", "x=y"}});
  CHECK(*parse_rdzv_conf("a=1,a= 1") == Map{{"a", "1"}});
  for (auto const* text : {"a", "a=", "=1", "a=1,", ",", "a=1,,b=2", "a=1,a=2"}) {
    INFO(text);
    CHECK_FALSE(parse_rdzv_conf(text));
  }
}

TEST_CASE("signals are found by name, unknown ones are kept apart", "[cli]") {
  auto const list = parse_signals("SIGTERM, SIGUSR1,SIGTERM,SIGNONE,");
  CHECK(list.numbers == std::vector<int>{SIGTERM, SIGUSR1});
  CHECK(list.unknown == std::vector<std::string>{"SIGNONE"});
}

TEST_CASE("loopback is known in all its spellings", "[cli]") {
  for (auto const* host : {"", "localhost", "LocalHost", "127.0.0.1", "127.3.2.1", "::1"}) {
    INFO(host);
    CHECK(is_loopback(host));
  }
  for (auto const* host : {"node-1", "10.0.0.1", "localhost.lab", "128.0.0.1"}) {
    INFO(host);
    CHECK_FALSE(is_loopback(host));
  }
}

TEST_CASE("rank sets are comma lists of integers", "[cli]") {
  CHECK(*parse_rank_set("0, 2,1,2") == std::set<int>{0, 1, 2});
  CHECK_FALSE(parse_rank_set("0,x"));
  CHECK_FALSE(parse_rank_set("0,"));
}

TEST_CASE("ports come as a list of numbers and ranges, enough for eight rounds and the next",
          "[cli]") {
  using Ranges = std::vector<PortRange>;
  CHECK(*parse_port_ranges("29600-29608") == Ranges{{29600, 29608}});
  CHECK(*parse_port_ranges("1 , 2-3,10-20") == Ranges{{1, 1}, {2, 3}, {10, 20}});
  for (auto const* text : {"", "x", "0-100", "100-90", "1-70000", "1-20,", "-5", "1-2-30"}) {
    INFO(text);
    CHECK_FALSE(parse_port_ranges(text));
  }
  auto const few = parse_port_ranges("29600-29607");
  REQUIRE_FALSE(few);
  CHECK(few.error().what == "'29600-29607' names 8 of at least 9 ports");
}

}  // namespace muster::launch
