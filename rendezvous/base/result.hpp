// SPDX-License-Identifier: Apache-2.0
#pragma once
// Result<T>: a value or an Error, with std::expected's vocabulary (which neither nvcc 13 nor clang
// 14 offers). Expected failures are values; exceptions stay inside library calls.

#include "rendezvous/base/error.hpp"

#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace muster {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  T const& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  T const& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  T const* operator->() const { return &value(); }

  Error const& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  Error const& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

// Success of a Result<void>, for `return ok();`.
inline Result<void> ok() {
  return {};
}

}  // namespace muster

#define MUSTER_CONCAT_(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_(a, b)

// MUSTER_TRY(auto name, expression): binds the value, or returns the error from the enclosing
// function.
#define MUSTER_TRY(declaration, ...) \
  MUSTER_TRY_(MUSTER_CONCAT(result_, __LINE__), declaration, __VA_ARGS__)
#define MUSTER_TRY_(temporary, declaration, ...)       \
  auto temporary = (__VA_ARGS__);                      \
  if (!temporary) return std::move(temporary).error(); \
  declaration = *std::move(temporary)

// MUSTER_CHECK(expression): for Result<void>; returns the error from the enclosing function.
#define MUSTER_CHECK(...)                                                             \
  do {                                                                                \
    if (auto checked_ = (__VA_ARGS__); !checked_) return std::move(checked_).error(); \
  } while (false)
