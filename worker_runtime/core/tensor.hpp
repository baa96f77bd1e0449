// SPDX-License-Identifier: Apache-2.0
#pragma once
// A contiguous tensor: a view into shared storage. A copy shares bytes. Not synchronised: one
// thread writes at a time.

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/core/dtype.hpp"
#include "worker_runtime/core/shape.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace muster::worker {

enum class Device : std::uint8_t { cpu };

// Bytes with one owner (the shared_ptr's count). 64-byte aligned, zeroed when made; reused from a
// pool is the caller's business. Later backends subclass it for shared or device memory.
class Storage {
 public:
  static std::shared_ptr<Storage> make(std::size_t bytes);

  Storage(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Storage() = default;
  Storage(Storage const&) = delete;
  Storage& operator=(Storage const&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  virtual Device device() const { return Device::cpu; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

struct Tensor {
  std::shared_ptr<Storage> storage;
  std::size_t offset_bytes = 0;
  DType dtype = DType::f32;
  Shape shape{0};

  static Tensor zeros(Shape shape, DType dtype = DType::f32);
  template <class T>
  static Tensor of(Shape shape, std::span<T const> values);

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * bytes_of(dtype); }
  std::byte* data() const { return storage ? storage->data() + offset_bytes : nullptr; }
  bool empty() const { return elements() == 0; }

  // The elements as T; T must be the dtype's type.
  template <class T>
  std::span<T> as() const {
    MUSTER_ASSERT(dtype == DTypeOf<T>::value, "a tensor is read as its own element type");
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(elements())};
  }

  // Elements [begin, begin + count) of the flattened tensor, sharing bytes.
  Tensor flat(std::int64_t begin, std::int64_t count) const;
  // The same bytes under another shape of equal element count.
  Tensor reshaped(Shape to) const;
  Tensor clone() const;
};

template <class T>
Tensor Tensor::of(Shape shape, std::span<T const> values) {
  auto made = zeros(shape, DTypeOf<T>::value);
  MUSTER_ASSERT(static_cast<std::size_t>(shape.elements()) == values.size(),
                "values fill the shape");
  std::copy(values.begin(), values.end(), made.template as<T>().begin());
  return made;
}

}  // namespace muster::worker
