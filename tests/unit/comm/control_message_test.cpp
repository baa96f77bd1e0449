// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/control_message.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::worker;

namespace {

std::vector<ControlMessage> all_messages() {
  Hello hello;
  hello.nonce = 0x1122334455667788ULL;
  hello.incarnation = 5;
  hello.rank = 3;
  hello.size = 8;
  hello.channel = Channel::data;
  hello.seat = Seat{"node-1", "10.0.0.7", 4'242};
  Table table;
  table.seats = {Seat{"a", "10.0.0.1", 1}, Seat{"b", "fe80::1", 65'535}};
  return {hello, Welcome{}, table, Abort{Error{Errc::mismatch, "what", "hint"}}, Bye{}};
}

}  // namespace

TEST_CASE("every control message comes back as it was written") {
  for (auto const& message : all_messages()) {
    auto const decoded = decode_control(encode(message));
    REQUIRE(decoded);
    CHECK(*decoded == message);
  }
}

TEST_CASE("a reader learns step by step how many bytes are missing") {
  for (auto const& message : all_messages()) {
    auto const bytes = encode(message);
    std::string_view const view(bytes);
    CHECK(*missing_bytes("") == kControlPrefixBytes);
    for (std::size_t length = kControlPrefixBytes; length < bytes.size(); ++length)
      REQUIRE(*missing_bytes(view.substr(0, length)) == bytes.size() - length);
    CHECK(*missing_bytes(view) == 0);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      REQUIRE(!decode_control(view.substr(0, length)));
  }
}

TEST_CASE("what follows a control message belongs to the next one") {
  auto const bytes = encode(Bye{});
  auto const message = decode_control(bytes + bytes);
  REQUIRE(message);
  CHECK(std::holds_alternative<Bye>(*message));
}

TEST_CASE("a control message of another magic, type, length or body is refused") {
  auto bytes = encode(all_messages()[0]);
  auto wrong = bytes;
  wrong[0] = 'X';
  CHECK(!missing_bytes(wrong));
  wrong = bytes;
  wrong[4] = 9;
  CHECK(!missing_bytes(wrong));
  wrong = bytes;
  wrong[8] = 0x7F;  // 2 GB of body
  CHECK(missing_bytes(wrong).error().code == Errc::protocol);
  wrong = bytes;
  wrong[kControlPrefixBytes + 16] = 8;  // a rank outside its world
  CHECK(!decode_control(wrong));
  wrong = encode(Bye{});
  wrong[5] = 1;  // a body where there is none
  CHECK(!decode_control(wrong + "x"));
}
