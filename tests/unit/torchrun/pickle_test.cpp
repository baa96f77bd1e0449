// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/pickle_reader.hpp"
#include "rendezvous/torchrun/pickle_writer.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::torchrun::pickle;
using namespace std::string_literals;

namespace {

std::string why_not(std::string const& bytes) {
  auto const value = read(bytes);
  REQUIRE_FALSE(value);
  CHECK((value.error().code == Errc::corrupt || value.error().code == Errc::limit));
  return value.error().what;
}

Value good(std::string const& bytes) {
  auto value = read(bytes);
  if (!value) FAIL(to_string(value.error()));
  return *std::move(value);
}

std::string global(std::string const& module, std::string const& name) {
  return "c" + module + "\n" + name + "\n";
}

}  // namespace

TEST_CASE("a whole number is read in each of its forms", "[torchrun]") {
  CHECK(good("\x80\x04K\xff."s) == Value::integer(255));
  CHECK(good("\x80\x04M\x01\x02."s) == Value::integer(513));
  CHECK(good("\x80\x04J\xff\xff\xff\xff."s) == Value::integer(-1));
  CHECK(good("\x80\x04\x8a\x00."s) == Value::integer(0));
  CHECK(good("\x80\x04\x8a\x01\x80."s) == Value::integer(-128));
  CHECK(good("\x80\x04\x8a\x02\x80\x00."s) == Value::integer(128));
  CHECK(why_not("\x80\x04\x8a\x09"s + std::string(9, '\1') + ".").find("64 bits") !=
        std::string::npos);
}

TEST_CASE("every kind of value survives writing and reading", "[torchrun]") {
  std::vector<Value> node{Value::text("addr"), Value::text("a"), Value::text("pid"),
                          Value::integer(1)};
  auto const desc = Value::object(Global::node_desc, node);
  auto real = Value::none();
  real.kind = Kind::real;
  real.real = -2.5e-300;
  auto const value = GENERATE_REF(values<Value>({
      Value::none(),
      Value::boolean(true),
      Value::integer(0),
      Value::integer(-1),
      Value::integer(256),
      Value::integer(2'147'483'648),
      Value::integer(std::numeric_limits<std::int64_t>::min()),
      real,
      Value::text(""),
      Value::text(std::string(300, 't')),
      Value::of_bytes(std::string(300, '\0')),
      Value::container(Kind::tuple),
      Value::container(Kind::tuple, {Value::integer(1)}),
      Value::container(Kind::tuple, std::vector<Value>(5, Value::text("same"))),
      Value::container(Kind::list, std::vector<Value>(3, Value::none())),
      Value::container(Kind::set, {desc}),
      Value::container(Kind::dict, {desc, Value::integer(1), Value::text("k"), desc}),
      Value::call(Global::timedelta, std::vector<Value>(3, Value::integer(0))),
  }));
  CHECK(good(write(value)) == value);
}

TEST_CASE("what is remembered is the same object, also when it is filled later", "[torchrun]") {
  // A list of one dict twice: remembered empty, filled through its second mention.
  auto const value = good("\x80\x04](}\x94h\x00K\x01K\x02se."s);
  REQUIRE(value.items.size() == 2);
  CHECK(value.items[0].items == std::vector<Value>{Value::integer(1), Value::integer(2)});
  CHECK(value.items[1] == value.items[0]);
}

TEST_CASE("names other than those of a round state are refused", "[torchrun]") {
  auto const call = "(X\x02\x00\x00\x00idtR."s;
  CHECK(why_not("\x80\x02"s + global("os", "system") + call).find("a name that") !=
        std::string::npos);
  CHECK(why_not("\x80\x04\x8c\x02os\x8c\x06system\x93."s).find("a name that") != std::string::npos);
  CHECK(why_not("\x80\x02"s + global("builtins", "eval") + call).find("a name that") !=
        std::string::npos);
  CHECK(why_not("\x80\x02"s + global("datetime", "datetime\0"s) + call).find("a name that") !=
        std::string::npos);
  CHECK(why_not("\x80\x02"s + global("datetime", std::string(500, 'x'))).find("without an end") !=
        std::string::npos);
}

TEST_CASE("opcodes other than those of a round state are refused", "[torchrun]") {
  // INST, OBJ, PERSID, EXT1, NEWOBJ_EX, DUP, POP, a text number, an out-of-band buffer.
  for (char const opcode : {'i', 'o', 'P', '\x82', '\x92', '2', '0', 'I', '\x97'}) {
    INFO(static_cast<int>(opcode));
    CHECK(why_not("\x80\x04N"s + opcode + "\x01.").find("byte 3: an opcode") != std::string::npos);
  }
  CHECK(why_not("\x80\x06N."s).find("protocol") != std::string::npos);
}

TEST_CASE("a call is only what makes times and sets", "[torchrun]") {
  auto const state = global(std::string(kRendezvousModule), "_RendezvousState");
  CHECK(why_not("\x80\x02"s + state + ")R.").find("never called") != std::string::npos);
  CHECK(why_not("\x80\x02"s + global("datetime", "datetime") + ")\x81.").find("none here") !=
        std::string::npos);
  CHECK(why_not("\x80\x02"s + state + "K\x01\x85\x81.").find("with arguments") !=
        std::string::npos);
  CHECK(why_not("\x80\x02"s + state + ")\x81}b}b.").find("second ones") != std::string::npos);
  CHECK(why_not("\x80\x02"s + global("_codecs", "encode") +
                "X\x01\x00\x00\x00xX\x05\x00\x00\x00utf-8\x86R."s)
            .find("latin1") != std::string::npos);
}

TEST_CASE("operations on an empty stack or without a mark are refused", "[torchrun]") {
  for (auto const* tail : {".", "\x85.", "t.", "u.", "a.", "b.", "R.", "\x81.", "\x94.", "h\x01.",
                           "(.", "NN.", "(K\x01u.", "}K\x01u."}) {
    INFO(tail);
    CHECK_FALSE(read("\x80\x04"s + tail));
  }
  CHECK_FALSE(read(""));
  CHECK_FALSE(read("\x80\x04N"s));
}

TEST_CASE("a pickle cannot unfold into more than its bound", "[torchrun]") {
  SECTION("nested doubling, a billion objects from a hundred bytes") {
    std::string bomb = "\x80\x04(N\x94"s;
    for (char slot = 0; slot < 14; ++slot)
      bomb += "h"s + slot + "h" + slot + "h" + slot + "\x87\x94";
    CHECK(why_not(bomb + "t.").find("unfolds") != std::string::npos);
  }
  SECTION("a cycle") {
    CHECK(why_not("\x80\x04]\x94h\x00"s + "a.").find("too deep") != std::string::npos);
  }
  SECTION("depth") {
    std::string deep = "\x80\x04N"s + std::string(100, '\x85') + ".";
    CHECK(why_not(deep).find("too deep") != std::string::npos);
  }
  SECTION("a long string used often") {
    std::string text = "\x80\x04X\x00\x00\x10\x00"s + std::string(1u << 20, 'x') + "\x94(";
    for (int i = 0; i < 100; ++i) text += "h\0"s;
    CHECK(why_not(text + "t\x86.").find("unfolds") != std::string::npos);
  }
  SECTION("long arguments of many calls") {
    std::string calls =
        "\x80\x04("s + std::string(1'000, 'N') + "t\x94" + global("datetime", "timedelta") + "\x94";
    for (int i = 0; i < 1'000; ++i) calls += "h\1h\0R"s;
    CHECK(why_not(calls + ".").find("too often") != std::string::npos);
  }
  SECTION("objects") {
    CHECK(why_not("\x80\x04"s + std::string(kMaxObjects + 1, 'N')).find("too many objects") !=
          std::string::npos);
  }
  SECTION("bytes") {
    CHECK(why_not(std::string(kMaxPickleBytes + 1, 'N')).find("at most") != std::string::npos);
  }
  SECTION("a length that nothing follows") {
    CHECK(why_not("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                  "abc"s)
              .find("longer than") != std::string::npos);
  }
}
