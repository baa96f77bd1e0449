// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of a contiguous row-major tensor, outermost first. A scalar has no dimensions and one
// element.

#include "rendezvous/base/assert.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace muster::worker {

class Shape {
 public:
  static constexpr std::size_t kMaxDims = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<std::int64_t const> sizes) : dims_(sizes.size()) {
    MUSTER_ASSERT(sizes.size() <= kMaxDims, "a tensor has at most 6 dimensions");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      MUSTER_ASSERT(sizes[i] >= 0, "a dimension is not negative");
      sizes_[i] = sizes[i];
    }
  }

  std::size_t dims() const { return dims_; }
  std::int64_t operator[](std::size_t i) const { return sizes_[i]; }
  std::span<std::int64_t const> sizes() const { return {sizes_.data(), dims_}; }
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (auto const size : sizes()) product *= size;
    return product;
  }

  friend bool operator==(Shape const&, Shape const&) = default;

 private:
  std::array<std::int64_t, kMaxDims> sizes_{};
  std::size_t dims_ = 0;
};

// "[64, 784]"
std::string to_string(Shape const& shape);

}  // namespace muster::worker
