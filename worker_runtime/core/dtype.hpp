// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types. Names are safetensors' (upper case) in files and torch's idea everywhere else.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::worker {

enum class DType : std::uint8_t { f32, f64, i64, i32, u8 };

constexpr std::size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::i64:
      return 8;
    case DType::i32:
      return 4;
    case DType::u8:
      return 1;
  }
  return 0;
}

// safetensors' spelling: "F32", "F64", "I64", "I32", "U8".
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::u8:
      return "U8";
  }
  return "?";
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};

}  // namespace muster::worker
