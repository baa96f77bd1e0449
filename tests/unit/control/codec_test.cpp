// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/codec.hpp"

#include "rendezvous/base/limits.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <limits>
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
  record.voters = {{Incarnation{1}, "a", "10.0.0.1", 29400}, {Incarnation{2}, "b", "", 0}};
  record.nodes = 2;
  record.world_size = 16;
  record.master = {"fd00::1", 65535};
  record.table_digest = 0xfedcba9876543210;
  record.used = {2, 1, 3};
  record.repeat = 1;
  record.reason = Reason::worker_failure;
  record.outcome = RecordOutcome{false, -11, "worker failed"};
  return record;
}

std::vector<Message> one_of_each() {
  auto const record = a_record();
  TableRow const row{Incarnation{1}, "gpu-01", "10.0.0.1", "eth0", 1, 8, 8, 8, 16};
  NodeFacts facts{Incarnation{7}, "gpu-01", "", -1, 8, "trainer", "pod-1", "rack-2", 29400, {}};
  facts.networks = {{"eth0", "10.0.0.1", 24, false}};
  Status const status{RoundNumber{1}, RoundNumber{2}, RoundNumber{3},
                      RoundNumber{4}, Epoch{5},       Epoch{6}};
  std::vector<Vouch> const vouches{{Incarnation{4}, 12}};
  ProbeTarget const target{"b", "10.0.0.2", 4000, true};
  Electorate const base{record.host, record.voters};
  return {Join{facts, JobSettings{}, status, "c10d", row, Incarnation{8}},
          Lease{-5, 6, 7, status, vouches},
          StoreOpened{RoundNumber{2}, 29500, "no"},
          Probed{RoundNumber{2}, 1, {{target, "refused"}}},
          Prepared{RoundNumber{2}, vouches},
          Stopped{RoundNumber{2}, 3},
          Failed{{RoundNumber{2}, 139, true, 12345, "{\"rank\": 3}"}},
          Done{RoundNumber{2}},
          OutcomeAck{},
          Leave{130, "SIGINT"},
          LastWord{Incarnation{9}},
          Welcome{"head", JobSettings{}},
          Ack{77, 78, 79, 80, RoundNumber{3}},
          Waiting{1, 2, 4, {"a", "b"}, "for c", {{Incarnation{8}, "b", "10.0.0.8", 29500}}},
          OpenStore{RoundNumber{5}, "10.0.0.1", {"10.0.0.2"}},
          Probe{RoundNumber{5}, 1, {target}},
          Prepare{record, {base}},
          Commit{record, row, {"a", "b"}},
          Stop{RoundNumber{5}, std::nullopt, "a worker failed"},
          Outcome{false, 9, "why", {"r1", "r2"}},
          Refused{Errc::rendezvous_timeout, "what", "hint"},
          Evicted{"why"},
          Released{},
          Resigned{},
          HostIs{Generation{1}, Epoch{4}, record.voters[0], true},
          Ask{-9, RoundNumber{4}, Epoch{3}},
          Answer{-9, true},
          VoteRequest{Epoch{5}, true, true},
          VoteReply{Epoch{5},
                    Epoch{6},
                    true,
                    true,
                    7,
                    Proposed{record, {base}},
                    record,
                    vouches,
                    {Incarnation{8}}}};
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

TEST_CASE("a name is short, and moves no terminal's cursor", "[control]") {
  Join join;
  for (auto const& host : {std::string(1'025, 'x'), std::string("a\x1b[2J"), std::string("a\nb")}) {
    join.facts.host = host;
    auto const back = decode(encode({a_header(), join}));
    REQUIRE_FALSE(back);
    CHECK(back.error().what.find("field host") != std::string::npos);
  }
  auto header = a_header();
  header.run_id = "a\tb";
  CHECK_FALSE(decode(encode({header, Released{}})));
  // What is told in sentences has lines, and is as long as it has to be.
  CHECK(decode(encode({a_header(), Evicted{"one line\n" + std::string(5'000, 'x')}})));
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

TEST_CASE("settings that no job can have are refused", "[control]") {
  JobSettings job;
  SECTION("no node") {
    job.min_nodes = job.max_nodes = 0;
  }
  SECTION("none at least") {
    job.min_nodes = 0;
  }
  SECTION("at least more than at most") {
    job.min_nodes = 2;
  }
  SECTION("leases at all times") {
    job.lease_every = Duration::zero();
  }
  SECTION("dead at once") {
    job.dead = Duration::zero();
  }
  Join join;
  join.job = job;
  for (Message const& message : {Message{join}, Message{Welcome{"head", job}}}) {
    auto const read = decode(encode({a_header(), message}));
    REQUIRE_FALSE(read);
    CHECK(read.error().what.find("job") != std::string::npos);
  }
}

TEST_CASE("others' CBOR is read whatever the order of its fields", "[control]") {
  for (auto const& message : one_of_each()) {
    INFO(name_of(message));
    auto const theirs = cbor(as_json(message));  // in the order of the alphabet
    auto const letter = decode(theirs);
    REQUIRE(letter);
    CHECK(*letter == Letter{a_header(), message});
    for (std::size_t n = 0; n < theirs.size(); ++n)
      CHECK_FALSE(decode(std::string_view(theirs).substr(0, n)));
  }
}

TEST_CASE("what a message holds is what others read in it", "[control]") {
  auto const stop = as_json(Stop{RoundNumber{5}, std::nullopt, "a worker failed"});
  CHECK(stop["type"] == "STOP");
  CHECK(stop["header"]["incarnation"] == 1ull << 63);
  CHECK(stop["body"] == json{{"round", 5}, {"grace_ns", nullptr}, {"why", "a worker failed"}});
  auto const lease = as_json(Lease{std::numeric_limits<std::int64_t>::min(), 23, 24, {}, {}});
  CHECK(lease["body"]["stamp_ns"] == std::numeric_limits<std::int64_t>::min());
  CHECK(lease["body"]["host_stamp_ns"] == 23);
  CHECK(lease["body"]["dead_ns"] == 24);
}

TEST_CASE("moments and lengths that arithmetic could not hold are refused", "[control]") {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  for (auto const edge : {kMost, -kMost})
    CHECK(decode(cbor(as_json(Lease{edge, edge, edge, {}, {}}))));
  for (auto const beyond : {kMost + 1, -kMost - 1, std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::min()}) {
    CHECK_FALSE(decode(encode({a_header(), Lease{beyond, 0, 0, {}, {}}})));
    CHECK_FALSE(decode(encode({a_header(), Lease{0, 0, beyond, {}, {}}})));
    CHECK_FALSE(decode(encode({a_header(), Prepared{RoundNumber{1}, {{Incarnation{4}, beyond}}}})));
    CHECK_FALSE(decode(encode({a_header(), Failed{{RoundNumber{1}, 1, false, beyond, ""}}})));
  }
}

TEST_CASE("a field that comes twice is refused", "[control]") {
  auto const once = encode({a_header(), Done{RoundNumber{1}}});
  std::string const field = "\x65round\x01";  // text of five bytes, 1
  auto const at = once.rfind(field);
  REQUIRE(at != std::string::npos);
  REQUIRE(once[at - 1] == '\xa1');  // a map of one
  auto twice = once;
  twice.insert(at, field);
  CHECK_FALSE(decode(twice));
  twice[at - 1] = '\xa2';
  CHECK_FALSE(decode(twice));
}

TEST_CASE("indefinite lengths, tags and floats are no part of a message", "[control]") {
  auto const done = encode({a_header(), Done{RoundNumber{1}}});
  auto const body = done.size() - 8;  // {"round": 1}
  REQUIRE(done[body] == '\xa1');
  auto open = done;
  open[body] = '\xbf';
  CHECK_FALSE(decode(open + '\xff'));
  CHECK_FALSE(decode('\xc1' + done));
  auto number = done;
  number.back() = '\xf9';  // a half float: 1.0
  CHECK_FALSE(decode(number + std::string("\x3c\0", 2)));
}

TEST_CASE("lists that promise more than comes cost nothing", "[control]") {
  auto const done = encode({a_header(), Done{RoundNumber{1}}});
  for (char const kind : {'\x9b', '\xbb', '\x7b'}) {  // a list, a map, a text of 2^62
    auto huge = done;
    huge.back() = kind;
    CHECK_FALSE(decode(huge + "\x40" + std::string(7, '\0')));
    CHECK_FALSE(decode(kind + ("\x40" + std::string(7, '\0'))));
  }
}

TEST_CASE("nesting cannot exhaust the stack", "[control]") {
  CHECK_FALSE(decode(std::string(limits::kMaxControlBytes, '\x81')));
  CHECK_FALSE(decode(std::string(limits::kMaxControlBytes, '\xa1')));
  // Also not where it stands in for a field that is looked past.
  for (char const kind : {'\x81', '\xa1'}) {
    std::string const fields =
        "\xa3\x64"
        "body" +
        std::string(100'000, kind);
    CHECK_FALSE(decode(fields + "\x64"
                                "type\x64"
                                "DONE"));
  }
}

TEST_CASE("a commit of 10,000 nodes stays below 4 KB", "[control]") {
  auto record = a_record();
  record.voters.assign(31, {Incarnation{~std::uint64_t{0}}, std::string(kMostSeatName, 'h'),
                            "255.255.255.255", 65535});
  record.outcome.reset();
  TableRow const row{Incarnation{~std::uint64_t{0}},
                     std::string(64, 'h'),
                     "fd00::1",
                     "eth0",
                     9999,
                     79992,
                     8,
                     79992,
                     80000};
  CHECK(encode({a_header(), Commit{record, row, {}}}).size() < 4096);
}
