// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/handshake.hpp"

#include "rendezvous/control/frame.hpp"
#include "tests/unit/control/toy_mac.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::control;

namespace {

Opening some_opening() {
  Opening opening;
  opening.asks_token = true;
  opening.nonce = std::string(kNonceBytes, 'n');
  opening.epoch = Epoch{7};
  opening.run_id = "run with \n anything";
  opening.name = "gpu-03";
  return opening;
}

std::string body_of(Opening const& opening) {
  return encode_opening(opening).substr(kGreetingBytes + sizeof(std::uint16_t));
}

}  // namespace

TEST_CASE("an opening comes back as it was", "[control]") {
  auto const opening = some_opening();
  auto const back = decode_opening_body(body_of(opening));
  REQUIRE(back);
  CHECK(*back == opening);
  CHECK(encode_opening(opening).starts_with(greeting()));
}

TEST_CASE("an opening that is cut, too long or has unknown flags is none", "[control]") {
  auto const body = body_of(some_opening());
  for (std::size_t size = 0; size < body.size(); ++size)
    CHECK_FALSE(decode_opening_body(std::string_view(body).substr(0, size)));
  CHECK_FALSE(decode_opening_body(body + "x"));
  auto flagged = body;
  flagged[0] = 4;
  CHECK_FALSE(decode_opening_body(flagged));
}

TEST_CASE("a long name and run id are cut, a name is printable", "[control]") {
  Opening opening;
  opening.name = std::string(1'000, 'x');
  opening.run_id = std::string(5'000, 'r');
  auto const back = decode_opening_body(body_of(opening));
  REQUIRE(back);
  CHECK(back->name.size() == kMaxOpeningName);
  CHECK(back->run_id.size() == kMaxOpeningRunId);
  opening.name = "a\x1b[31m\nb";
  CHECK(decode_opening_body(body_of(opening))->name == "a?[31m?b");
}

TEST_CASE("every part of what was said, the role and the token are in a proof", "[control]") {
  Transcript const said{"caller's", "host's", "binding"};
  auto const proof = proof_of(Role::caller, toy_mac, "token", said);
  CHECK(proof == proof_of(Role::caller, toy_mac, "token", said));
  CHECK(proof != proof_of(Role::host, toy_mac, "token", said));
  CHECK(proof != proof_of(Role::caller, toy_mac, "Token", said));
  CHECK(proof != frame_key_of(Role::caller, toy_mac, "token", said));
  for (auto const& other :
       {Transcript{"caller'", "shost's", "binding"}, Transcript{"caller's", "host'", "sbinding"},
        Transcript{"caller's", "host's", ""}})
    CHECK(proof != proof_of(Role::caller, toy_mac, "token", other));
  CHECK(frame_key_of(Role::caller, toy_mac, "token", said) !=
        frame_key_of(Role::host, toy_mac, "token", said));
}
