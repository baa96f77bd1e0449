// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/handshake_step.hpp"

#include "rendezvous/control/frame.hpp"
#include "tests/unit/control/toy_mac.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::control;

namespace {

using Phase = Handshake::Phase;

Handshake side(Role role, std::string token, char nonce = '\0') {
  Handshake made;
  made.role = role;
  made.own.name = role == Role::caller ? "alice" : "bob";
  made.own.run_id = "job";
  made.token = std::move(token);
  made.mac = toy_mac;
  made.peer_address = "10.0.0.9";
  if (nonce != '\0') made.own.nonce = std::string(kNonceBytes, nonce);
  return made;
}

// Two sides and what is on its way between them.
struct Pair {
  Handshake caller, host;
  std::string to_host, to_caller;
  HandshakeStep caller_end, host_end;

  Pair(Handshake a, Handshake b) : caller(std::move(a)), host(std::move(b)) {
    to_host = begin_handshake(caller);
    to_caller = begin_handshake(host);
  }
  static void keep(HandshakeStep const& step, HandshakeStep& end, std::string& out) {
    out += step.send;
    if (step.error) end = step;
  }
  void run(std::size_t piece = 1'000'000) {
    while (!to_host.empty() || !to_caller.empty()) {
      keep(handshake_step(host, to_host.substr(0, piece)), host_end, to_caller);
      to_host.erase(0, piece);
      keep(handshake_step(caller, to_caller.substr(0, piece)), caller_end, to_host);
      to_caller.erase(0, piece);
    }
  }
  bool done() const { return caller.phase == Phase::done && host.phase == Phase::done; }
};

std::string text_of(HandshakeStep const& step) {
  REQUIRE(step.error);
  return to_string(*step.error);
}

}  // namespace

TEST_CASE("two sides without a token know each other by their openings", "[control]") {
  Pair pair(side(Role::caller, ""), side(Role::host, ""));
  pair.run();
  CHECK(pair.done());
  CHECK(pair.host.peer.name == "alice");
  CHECK(pair.host.peer.run_id == "job");
}

TEST_CASE("two sides with one token prove it, wherever the bytes are cut", "[control]") {
  auto const piece = GENERATE(std::size_t{1}, 2, 7, 33, 1'000'000);
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  pair.run(piece);
  CHECK(pair.done());
  CHECK(frame_key_of(Role::caller, toy_mac, "secret", pair.caller.said) ==
        frame_key_of(Role::caller, toy_mac, "secret", pair.host.said));
}

TEST_CASE("what comes behind the last proof is left for the frames", "[control]") {
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  auto const opened = handshake_step(pair.caller, pair.to_caller);
  pair.to_host += opened.send + "frames";
  pair.to_caller.clear();
  pair.run();
  CHECK(pair.done());
  CHECK(pair.host.input == "frames");
}

TEST_CASE("the host proves nothing to a caller who has not", "[control]") {
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  auto const step = handshake_step(pair.host, pair.to_host);
  CHECK(step.send.empty());
  CHECK(pair.host.phase == Phase::proof);
}

TEST_CASE("another token is refused on both sides, both hosts named", "[control]") {
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "Secret", 'b'));
  pair.run();
  CHECK(pair.caller_end.fault == Fault::token);
  CHECK(pair.host_end.fault == Fault::token);
  CHECK(pair.caller_end.error->code == Errc::refused);
  CHECK(text_of(pair.caller_end).find("host bob refused this node's job token") == 0);
  CHECK(text_of(pair.host_end).find("host alice does not know the job token") == 0);
  CHECK(text_of(pair.host_end).find("host bob") != std::string::npos);
}

TEST_CASE("who has a token refuses who has none, and both say so", "[control]") {
  auto const caller_has = GENERATE(false, true);
  Pair pair(side(Role::caller, caller_has ? "secret" : "", 'a'),
            side(Role::host, caller_has ? "" : "secret", 'b'));
  pair.run();
  auto const& with = caller_has ? pair.caller_end : pair.host_end;
  auto const& without = caller_has ? pair.host_end : pair.caller_end;
  CHECK(with.fault == Fault::no_token);
  CHECK(without.fault == Fault::no_token);
  CHECK(text_of(without).find("asks for a job token; this node has none (set MUSTER_TOKEN") !=
        std::string::npos);
  CHECK(text_of(with).find("has no job token; this node asks for one") != std::string::npos);
}

TEST_CASE("a recorded conversation is worth nothing against a fresh nonce", "[control]") {
  Pair honest(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  auto record = honest.to_host;
  record += handshake_step(honest.caller, honest.to_caller).send;
  auto host = side(Role::host, "secret", 'c');
  begin_handshake(host);
  auto const step = handshake_step(host, record);
  CHECK(step.fault == Fault::token);
  CHECK(host.phase == Phase::failed);
}

TEST_CASE("a side's own words are not taken from its peer", "[control]") {
  SECTION("its opening") {
    auto host = side(Role::host, "secret", 'b');
    auto const echo = begin_handshake(host);
    CHECK(handshake_step(host, echo).fault == Fault::token);
  }
  SECTION("a proof that it made as a caller elsewhere") {
    auto caller = side(Role::caller, "secret", 'a');
    begin_handshake(caller);
    auto stranger = side(Role::host, "", 'x');  // knows no token, and claims to
    stranger.own.asks_token = true;
    auto const opening = encode_opening(stranger.own);
    auto const proof = handshake_step(caller, opening).send;
    auto const step = handshake_step(caller, proof);
    CHECK(step.fault == Fault::token);
    CHECK(step.error->what.find("does not know it itself") != std::string::npos);
  }
}

TEST_CASE("an opening that was changed on its way makes the proofs worthless", "[control]") {
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  auto const at = pair.to_host.find("job");
  pair.to_host.replace(at, 3, "jib");
  pair.run();
  CHECK_FALSE(pair.done());
  CHECK(pair.host_end.fault == Fault::token);
}

TEST_CASE("TLS on one side only is refused, and both sides can say so", "[control]") {
  auto host = side(Role::host, "");
  host.own.asks_tls = true;
  Pair pair(side(Role::caller, ""), std::move(host));
  pair.run();
  CHECK(pair.caller_end.fault == Fault::tls);
  CHECK(pair.host_end.fault == Fault::tls);
  CHECK(text_of(pair.caller_end).find("host bob asks for TLS; this node has no certificate") == 0);
  CHECK(text_of(pair.host_end).find("host alice speaks without TLS; this node asks for it") == 0);
}

TEST_CASE("two TLS sessions that somebody joins have no proof in common", "[control]") {
  auto caller = side(Role::caller, "secret", 'a'), host = side(Role::host, "secret", 'b');
  caller.over_tls = host.over_tls = true;
  caller.own.asks_tls = host.own.asks_tls = true;
  caller.said.binding = "one session";
  host.said.binding = GENERATE(as<std::string>{}, "one session", "another");
  auto const same = host.said.binding == caller.said.binding;
  Pair pair(std::move(caller), std::move(host));
  pair.run();
  CHECK(pair.done() == same);
}

TEST_CASE("other protocols, other versions and endless openings end it at once", "[control]") {
  auto host = side(Role::host, "");
  begin_handshake(host);
  SECTION("foreign") {
    CHECK(handshake_step(host, "SSH-2.0").fault == Fault::foreign);
    CHECK(handshake_step(host, encode_opening({})).fault == Fault::none);  // nothing more is read
    CHECK(host.phase == Phase::failed);
  }
  SECTION("foreign behind the magic word") {
    CHECK(handshake_step(host, "MUSTER\x02rest").fault == Fault::foreign);
  }
  SECTION("version") {
    auto const step = handshake_step(host, "MUSTER\x63\n");
    CHECK(step.fault == Fault::version);
    CHECK(step.error->what.find("host 10.0.0.9 speaks control protocol 99") == 0);
  }
  SECTION("too long") {
    CHECK(handshake_step(host, greeting() + "\xff\xff").fault == Fault::limit);
  }
  SECTION("garbage in the opening") {
    CHECK(handshake_step(host, greeting() + std::string("\x03\x00"
                                                        "abc",
                                                        5))
              .fault == Fault::protocol);
  }
}

TEST_CASE("something else than a proof is refused before it is whole", "[control]") {
  Pair pair(side(Role::caller, "secret", 'a'), side(Role::host, "secret", 'b'));
  handshake_step(pair.host, pair.to_host);
  CHECK(handshake_step(pair.host, "X").fault == Fault::protocol);
}
