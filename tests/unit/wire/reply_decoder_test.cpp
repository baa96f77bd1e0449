// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/reply_decoder.hpp"

#include "rendezvous/base/bytes.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::wire;

namespace {

struct Sample {
  Opcode asked;
  std::uint64_t keys;
  std::string bytes;
};

std::string number(std::int64_t value) {
  std::string bytes;
  ByteWriter{bytes}.number(value);
  return bytes;
}

std::string sized(std::string_view value) {
  std::string bytes;
  ByteWriter{bytes}.sized(value);
  return bytes;
}

std::vector<Sample> samples() {
  return {{Opcode::compare_set, 0, sized("a")},
          {Opcode::get, 0, sized("")},
          {Opcode::add, 0, number(-3)},
          {Opcode::check, 0, std::string(1, kNotReady)},
          {Opcode::wait, 0, std::string(1, kStopWaiting)},
          {Opcode::get_num_keys, 0, number(7)},
          {Opcode::delete_key, 0, number(1)},
          {Opcode::multi_get, 2, sized("1") + sized("22")},
          {Opcode::multi_get, 0, ""},
          {Opcode::cancel_wait, 0, std::string(1, kWaitCanceled)},
          {Opcode::ping, 0, "abcd"},
          {Opcode::queue_pop, 0, number(0)},
          {Opcode::queue_pop, 0, number(2) + sized("head")},
          {Opcode::queue_len, 0, number(3)},
          {Opcode::list_keys, 0, number(2) + sized("init/") + sized("/k")},
          {Opcode::barrier, 0, std::string(1, kStopWaiting)}};
}

}  // namespace

TEST_CASE("a reply is complete with its last byte and not before, however it is split", "[wire]") {
  for (auto const& [asked, keys, bytes] : samples()) {
    INFO(name_of(asked));
    ReplyDecoder decoder;
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      auto const part = decoder.next(asked, keys, std::string_view{bytes}.substr(0, n));
      REQUIRE(part);
      CHECK_FALSE(part->has_value());
    }
    auto const whole = decoder.next(asked, keys, bytes);
    REQUIRE(whole);
    REQUIRE(whole->has_value());
    CHECK((*whole)->consumed == bytes.size());
  }
}

TEST_CASE("requests without a reply are answered by nothing", "[wire]") {
  auto const asked = GENERATE(Opcode::validate, Opcode::set, Opcode::append, Opcode::multi_set,
                              Opcode::queue_push);
  ReplyDecoder decoder;
  auto const found = decoder.next(asked, 0, {});
  REQUIRE(found);
  REQUIRE(found->has_value());
  CHECK((*found)->consumed == 0);
}

TEST_CASE("the parts of a reply are where the request says", "[wire]") {
  ReplyDecoder decoder;
  auto const popped = decoder.next(Opcode::queue_pop, 0, number(2) + sized("head"));
  CHECK((**popped).message.number == 2);
  auto const bytes = number(2) + sized("init/") + sized("/k");
  auto const list = decoder.next(Opcode::list_keys, 0, bytes);
  std::vector<std::string> names;
  (**list).message.list.all_of([&](std::string_view name) {
    names.emplace_back(name);
    return true;
  });
  CHECK(names == std::vector<std::string>{"init/", "/k"});
}

TEST_CASE("a reply with an impossible length is refused", "[wire]") {
  ReplyDecoder decoder;
  auto const huge = decoder.next(Opcode::get, 0, number(std::int64_t{1} << 40));
  REQUIRE_FALSE(huge);
  CHECK(huge.error().code == Errc::limit);
  auto const negative = decoder.next(Opcode::list_keys, 0, number(-1));
  REQUIRE_FALSE(negative);
  CHECK(negative.error().code == Errc::protocol);
}
