// SPDX-License-Identifier: Apache-2.0
// Year (two bytes), month, day, hour, minute, second, microsecond (three), big-endian. The highest
// bit of the month tells apart the two readings of an hour that a clock change repeats: nothing in
// UTC.

#include "rendezvous/torchrun/python_time.hpp"

#include <algorithm>
#include <chrono>

namespace muster::torchrun {
namespace {

using namespace std::chrono;
using pickle::Global;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kBytes = 10;
constexpr std::int64_t kMinUs = microseconds{sys_days{year{1} / 1 / 1}.time_since_epoch()}.count();
constexpr std::int64_t kMaxUs =
    microseconds{sys_days{year{10'000} / 1 / 1}.time_since_epoch()}.count() - 1;

std::optional<std::int64_t> offset_us(Value const& zone) {
  if (zone.kind != Kind::call || zone.global != Global::timezone || zone.items.empty())
    return std::nullopt;
  auto const& delta = zone.items.front();
  if (delta.kind != Kind::call || delta.global != Global::timedelta || delta.items.size() > 3)
    return std::nullopt;
  std::int64_t parts[3] = {0, 0, 0};  // days, seconds, microseconds
  for (std::size_t i = 0; i < delta.items.size(); ++i) {
    constexpr std::int64_t kMost = 1'000'000;
    if (delta.items[i].kind != Kind::integer) return std::nullopt;
    parts[i] = delta.items[i].number;
    if (parts[i] < -kMost || parts[i] > kMost) return std::nullopt;
  }
  auto const total = (parts[0] * 86'400 + parts[1]) * 1'000'000 + parts[2];
  constexpr std::int64_t kDay = 86'400'000'000;
  return total > -kDay && total < kDay ? std::optional(total) : std::nullopt;
}

}  // namespace

std::optional<PythonTime> time_from(Value const& value) {
  if (value.kind != Kind::call || value.global != Global::datetime || value.items.empty() ||
      value.items.size() > 2)
    return std::nullopt;
  auto const& packed = value.items.front();
  if (packed.kind != Kind::bytes || packed.bytes.size() != kBytes) return std::nullopt;
  auto const at = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(packed.bytes[i]));
  };
  year_month_day const date{year{static_cast<int>(at(0) << 8 | at(1))}, month{at(2) & 0x7fU},
                            day{at(3)}};
  auto const micro = at(7) << 16 | at(8) << 8 | at(9);
  if (!date.ok() || date.year() < year{1} || date.year() > year{9'999} || at(4) > 23 ||
      at(5) > 59 || at(6) > 59 || micro > 999'999)
    return std::nullopt;
  auto const time = sys_days{date} + hours{at(4)} + minutes{at(5)} + seconds{at(6)};
  PythonTime result{microseconds{time.time_since_epoch()}.count() + micro, false};
  if (value.items.size() == 1 || value.items[1].kind == Kind::none) return result;
  auto const offset = offset_us(value.items[1]);
  if (!offset) return std::nullopt;
  result.aware = true;
  result.utc_us = std::clamp(result.utc_us - *offset, kMinUs, kMaxUs);
  return result;
}

Value to_value(PythonTime time) {
  microseconds const since{std::clamp(time.utc_us, kMinUs, kMaxUs)};
  auto const days = floor<std::chrono::days>(since);
  year_month_day const date{sys_days{days}};
  hh_mm_ss const clock{since - days};
  auto const year_number = static_cast<unsigned>(static_cast<int>(date.year()));
  auto const micro = static_cast<unsigned>(clock.subseconds().count());
  std::string packed;
  for (auto const byte :
       {year_number >> 8, year_number & 0xffU, static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<unsigned>(clock.hours().count()),
        static_cast<unsigned>(clock.minutes().count()),
        static_cast<unsigned>(clock.seconds().count()), micro >> 16, micro >> 8 & 0xffU,
        micro & 0xffU})
    packed.push_back(static_cast<char>(byte));
  std::vector<Value> arguments;
  arguments.push_back(Value::of_bytes(std::move(packed)));
  if (time.aware) {
    std::vector<Value> const zeros(3, Value::integer(0));
    std::vector<Value> const offset{Value::call(Global::timedelta, zeros)};
    arguments.push_back(Value::call(Global::timezone, offset));
  }
  return Value::call(Global::datetime, std::move(arguments));
}

}  // namespace muster::torchrun
