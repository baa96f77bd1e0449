// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/codec.hpp"

#include "rendezvous/base/limits.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <set>

using namespace muster;
using namespace muster::control;
using namespace muster::membership;
using nlohmann::json;

namespace {

Record a_record() {
  Record record;
  record.generation = Generation{3};
  record.epoch = Epoch{2};
  record.round = RoundNumber{41};
  record.host = Incarnation{~std::uint64_t{0}};
  record.voters = {Incarnation{1}, Incarnation{2}};
  record.nodes = 2;
  record.world_size = 16;
  record.master = {"fd00::1", 65535};
  record.table_digest = 0xfedcba9876543210;
  record.used = {2, 1};
  record.repeat = 1;
  record.reason = Reason::worker_failure;
  record.outcome = RecordOutcome{false, -11, "worker failed"};
  return record;
}

std::vector<Message> one_of_each() {
  auto const record = a_record();
  TableRow const row{Incarnation{1}, "gpu-01", "10.0.0.1", 1, 8, 8, 8, 16};
  NodeFacts const facts{Incarnation{7}, "gpu-01", "", -1, 8, "trainer"};
  return {Join{facts, JobSettings{}, {RoundNumber{1}, {}, {}, {}}, "c10d"},
          Lease{-5, {RoundNumber{1}, RoundNumber{2}, RoundNumber{3}, RoundNumber{4}}},
          StoreOpened{RoundNumber{2}, 29500, "no"},
          Prepared{RoundNumber{2}},
          Stopped{RoundNumber{2}},
          Failed{{RoundNumber{2}, 139, true, 12345, "{\"rank\": 3}"}},
          Done{RoundNumber{2}},
          OutcomeAck{},
          Leave{130, "SIGINT"},
          LastWord{Incarnation{9}},
          Welcome{"head", JobSettings{}},
          Ack{77, RoundNumber{3}},
          Waiting{1, 2, 4, {"a", "b"}},
          OpenStore{RoundNumber{5}},
          Prepare{record},
          Commit{record, row, {"a", "b"}},
          Stop{RoundNumber{5}, std::nullopt, "a worker failed"},
          Outcome{false, 9, "why", {"r1", "r2"}},
          Refused{Errc::rendezvous_timeout, "what", "hint"},
          Deposed{Generation{1}, Epoch{4}},
          VoteRequest{Epoch{5}},
          VoteReply{Epoch{5}, true, record}};
}

Header a_header() {
  return {"run \xc3\xa9", Generation{1}, Epoch{2}, RoundNumber{3}, Incarnation{1ull << 63}, 4};
}

std::string cbor(json const& value) {
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

json as_json(Message message) {
  return json::from_cbor(encode({a_header(), std::move(message)}));
}

}  // namespace

TEST_CASE("every message survives the way there and back", "[control]") {
  auto const messages = one_of_each();
  REQUIRE(messages.size() == std::variant_size_v<Message>);
  std::set<std::string_view> names;
  for (auto const& message : messages) {
    INFO(name_of(message));
    names.insert(name_of(message));
    Letter const letter{a_header(), message};
    auto const back = decode(encode(letter));
    REQUIRE(back);
    CHECK(*back == letter);
  }
  CHECK(names.size() == messages.size());
}

TEST_CASE("a cut message is refused at every length", "[control]") {
  for (auto const& message : one_of_each()) {
    auto const bytes = encode({a_header(), message});
    for (std::size_t n = 0; n < bytes.size(); ++n)
      CHECK_FALSE(decode(std::string_view(bytes).substr(0, n)));
    CHECK_FALSE(decode(bytes + '\0'));
  }
}

TEST_CASE("missing, unknown and mistyped fields are refused by name", "[control]") {
  auto lease = as_json(Lease{});
  lease["body"].erase("stamp_ns");
  CHECK(decode(cbor(lease)).error().what.find("stamp_ns") != std::string::npos);

  lease = as_json(Lease{});
  lease["body"]["surprise"] = 1;
  CHECK_FALSE(decode(cbor(lease)));

  auto opened = as_json(StoreOpened{});
  opened["body"]["port"] = 65536;
  CHECK(decode(cbor(opened)).error().what.find("port") != std::string::npos);
  opened["body"]["port"] = -1;
  CHECK_FALSE(decode(cbor(opened)));
  opened["body"]["port"] = 1.0;
  CHECK_FALSE(decode(cbor(opened)));

  auto refused = as_json(Refused{});
  refused["body"]["code"] = "no such code";
  CHECK_FALSE(decode(cbor(refused)));

  auto welcome = as_json(Welcome{});
  welcome["body"]["job"]["dead"] = -1;
  CHECK_FALSE(decode(cbor(welcome)));

  auto unknown = as_json(Lease{});
  unknown["type"] = "LEAZE";
  CHECK_FALSE(decode(cbor(unknown)));
  CHECK_FALSE(decode(cbor(json::array({1, 2}))));
}

TEST_CASE("nesting cannot exhaust the stack", "[control]") {
  CHECK_FALSE(decode(std::string(limits::kMaxControlBytes, '\x81')));
  CHECK_FALSE(decode(std::string(limits::kMaxControlBytes, '\xa1')));
}

TEST_CASE("a commit of 10,000 nodes stays below 4 KB", "[control]") {
  auto record = a_record();
  record.voters.assign(31, Incarnation{~std::uint64_t{0}});
  record.outcome.reset();
  TableRow const row{Incarnation{~std::uint64_t{0}},
                     std::string(64, 'h'),
                     "fd00::1",
                     9999,
                     79992,
                     8,
                     79992,
                     80000};
  CHECK(encode({a_header(), Commit{record, row, {}}}).size() < 4096);
}
