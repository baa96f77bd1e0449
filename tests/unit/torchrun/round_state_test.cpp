// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/round_state.hpp"

#include "rendezvous/torchrun/base64.hpp"
#include "rendezvous/torchrun/pickle_writer.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace muster;
using namespace muster::torchrun;
using nlohmann::json;

namespace {

json to_json(NodeDesc const& node) {
  return json::array({node.addr, node.pid, node.local_id});
}

json to_json(PythonTime time) {
  return {{"utc_us", time.utc_us}, {"aware", time.aware}};
}

json to_json(std::set<NodeDesc> const& nodes) {
  auto list = json::array();
  for (auto const& node : nodes) list.push_back(to_json(node));
  return list;
}

// As record_torchrun_state.py says what a state means.
json meaning(RoundState const& state) {
  json means;
  means["round"] = state.round;
  means["complete"] = state.complete;
  means["deadline"] = state.deadline ? to_json(*state.deadline) : json();
  means["closed"] = state.closed;
  means["participants"] = means["last_heartbeats"] = json::array();
  for (auto const& [node, rank] : state.participants) {
    means["participants"].push_back(to_json(node));
    means["participants"].back().push_back(rank);
  }
  for (auto const& [node, time] : state.last_heartbeats) {
    means["last_heartbeats"].push_back(to_json(node));
    means["last_heartbeats"].back().push_back(to_json(time));
  }
  means["wait_list"] = to_json(state.wait_list);
  means["redundancy_list"] = state.redundancy_list ? to_json(*state.redundancy_list) : json();
  means["others"] = state.others.size() / 2;
  return means;
}

RoundState good(std::string const& value) {
  auto const state = decode_state(value);
  if (!state) FAIL(to_string(state.error()));
  REQUIRE(*state);
  return **state;
}

}  // namespace

TEST_CASE("states that torchrun wrote are read as what they mean", "[torchrun]") {
  auto const recorded = test::golden("torchrun_state.json");
  REQUIRE(recorded.size() >= 12);
  for (auto const& [name, entry] : recorded.items()) {
    INFO(name);
    auto const state = good(entry["value"]);
    if (!entry["means"].is_null()) CHECK(meaning(state) == entry["means"]);
  }
  auto const many = recorded["more nodes than one batch or a one-byte reference holds"];
  CHECK(good(many["value"]).participants.size() == 1'100);
}

TEST_CASE("a state that was read is written as the same", "[torchrun]") {
  auto const recorded = test::golden("torchrun_state.json");
  for (auto const& [name, entry] : recorded.items()) {
    INFO(name);
    auto const state = good(entry["value"]);
    auto const written = encode_state(state);
    CHECK(good(written) == state);
    // Not longer than Python's own: every agent reads it once a second.
    CHECK(written.size() <= entry["value"].get_ref<std::string const&>().size() + 60);
  }
}

TEST_CASE("what newer releases add is carried through unchanged", "[torchrun]") {
  auto const recorded = test::golden("torchrun_state.json");
  auto state = good(recorded["attributes of a newer release"]["value"]);
  REQUIRE(state.others.size() == 4);
  CHECK(state.others[0] == pickle::Value::text("fencing"));
  auto const before = state.others;
  state.round = 9;
  CHECK(good(encode_state(state)).others == before);
}

TEST_CASE("a missing redundancy list stays missing, and times keep their form", "[torchrun]") {
  auto const recorded = test::golden("torchrun_state.json");
  auto const old = good(recorded["no redundancy list, as before release 2.3"]["value"]);
  CHECK_FALSE(old.redundancy_list);
  CHECK_FALSE(good(encode_state(old)).redundancy_list);
  auto const naive = good(recorded["times without a zone, as before release 2.6"]["value"]);
  CHECK_FALSE(writes_aware_times(naive));
  CHECK(writes_aware_times(old));
  CHECK(writes_aware_times(RoundState{}));
}

TEST_CASE("torchrun's word for no state yet is no state", "[torchrun]") {
  auto const state = decode_state(kNoState);
  REQUIRE(state);
  CHECK_FALSE(*state);
}

TEST_CASE("nodes are in torchrun's order: code points of the address, process, id", "[torchrun]") {
  CHECK(NodeDesc{"10.0.0.2", 1, 0} < NodeDesc{"9.0.0.1", 1, 0});
  CHECK(NodeDesc{"Z", 1, 0} < NodeDesc{"a", 1, 0});
  CHECK(NodeDesc{"z", 1, 0} < NodeDesc{"\xc3\xa4", 1, 0});  // ä
  CHECK(NodeDesc{"a", 9, 5} < NodeDesc{"a", 10, 0});
  CHECK(NodeDesc{"a", 9, 0} < NodeDesc{"a", 9, 1});
}

TEST_CASE("values that are no state are corrupt, with the reason", "[torchrun]") {
  auto const why_not = [](std::string const& value) {
    auto const state = decode_state(value);
    REQUIRE_FALSE(state);
    CHECK(state.error().code == Errc::corrupt);
    return state.error().what;
  };
  CHECK(why_not("not base64!").find("no base64") != std::string::npos);
  CHECK(why_not(to_base64("\x80\x04K\x01.")).find("another kind") != std::string::npos);
  RoundState state;
  state.participants[{"host\x1b[2J", 1, 0}] = 0;
  CHECK(why_not(encode_state(state)).find("participants is of another kind") != std::string::npos);
  state.participants.clear();
  state.others = {pickle::Value::text("round"), pickle::Value::none()};
  CHECK(why_not(encode_state(state)).find("round is of another kind") != std::string::npos);
  for (auto const round : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    state.others = {pickle::Value::text("round"), pickle::Value::integer(round)};
    CHECK(why_not(encode_state(state)).find("round is of another kind") != std::string::npos);
  }
  auto const bare = pickle::Value::object(pickle::Global::rendezvous_state, {});
  CHECK(why_not(to_base64(pickle::write(bare))).find("is missing") != std::string::npos);
  CHECK(why_not(to_base64("\x80\x04.")).find("one object") != std::string::npos);
  CHECK(read_state("\x80\x04}.").error().what.find("another kind") != std::string::npos);
}
