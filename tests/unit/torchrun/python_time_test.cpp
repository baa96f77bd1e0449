// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/python_time.hpp"

#include <catch2/catch.hpp>

using namespace muster::torchrun;
using namespace muster::torchrun::pickle;

namespace {

Value packed(std::initializer_list<int> bytes) {
  std::string text;
  for (auto const byte : bytes) text.push_back(static_cast<char>(byte));
  return Value::call(Global::datetime, {Value::of_bytes(text)});
}

}  // namespace

TEST_CASE("a time is its microseconds since 1970, with or without a zone", "[torchrun]") {
  auto const aware = GENERATE(true, false);
  auto const us = GENERATE(values<std::int64_t>({0, 1, 999'999, 1'772'323'199'999'999, -1,
                                                 -62'135'596'800'000'000,     // year 1
                                                 253'402'300'799'999'999}));  // end of 9999
  PythonTime const time{us, aware};
  CHECK(time_from(to_value(time)) == time);
}

TEST_CASE("the bytes of a time are Python's", "[torchrun]") {
  // datetime(2026, 2, 28, 23, 59, 58, 70000)
  CHECK(time_from(packed({0x07, 0xea, 2, 28, 23, 59, 58, 0x01, 0x11, 0x70})) ==
        PythonTime{1'772'323'198'070'000, false});
  // The second reading of a repeated hour: the same time in UTC.
  CHECK(time_from(packed({0x07, 0xea, 0x82, 28, 23, 59, 58, 0x01, 0x11, 0x70})) ==
        PythonTime{1'772'323'198'070'000, false});
}

TEST_CASE("times that do not exist are none", "[torchrun]") {
  CHECK_FALSE(time_from(packed({0x07, 0xea, 2, 30, 0, 0, 0, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0x07, 0xea, 13, 1, 0, 0, 0, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0, 0, 1, 1, 0, 0, 0, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0x27, 0x10, 1, 1, 0, 0, 0, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0x07, 0xea, 2, 1, 24, 0, 0, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0x07, 0xea, 2, 1, 0, 0, 60, 0, 0, 0})));
  CHECK_FALSE(time_from(packed({0x07, 0xea, 2, 1, 0, 0, 0, 0x0f, 0x42, 0x40})));  // 1,000,000
  CHECK_FALSE(time_from(packed({0x07, 0xea, 2, 1})));
  CHECK_FALSE(time_from(Value::none()));
  CHECK_FALSE(time_from(Value::call(Global::timedelta, {Value::of_bytes(std::string(10, '\1'))})));
}

TEST_CASE("a zone's offset is taken off, and an impossible one refused", "[torchrun]") {
  auto const in_zone = [](std::vector<Value> delta) {
    auto time = packed({0x07, 0xb2, 1, 1, 1, 0, 0, 0, 0, 0});  // 1970-01-01 01:00
    time.items.push_back(
        Value::call(Global::timezone, {Value::call(Global::timedelta, std::move(delta))}));
    return time_from(time);
  };
  CHECK(in_zone({Value::integer(0), Value::integer(3'600), Value::integer(0)}) ==
        PythonTime{0, true});
  CHECK(in_zone({Value::integer(-1), Value::integer(82'800), Value::integer(0)}) ==
        PythonTime{7'200'000'000, true});
  CHECK_FALSE(in_zone({Value::integer(2), Value::integer(0), Value::integer(0)}));
  CHECK_FALSE(in_zone({Value::integer(INT64_MAX), Value::integer(0), Value::integer(0)}));
  CHECK_FALSE(in_zone({Value::text("0")}));
}
