// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/tensor.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace muster::worker {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

class HeapStorage final : public Storage {
 public:
  explicit HeapStorage(std::size_t bytes)
      : Storage(static_cast<std::byte*>(
                    ::operator new (bytes == 0 ? 1 : bytes, std::align_val_t{kAlignment})),
                bytes) {
    std::memset(data(), 0, bytes);
  }
  ~HeapStorage() override { ::operator delete (data(), std::align_val_t{kAlignment}); }
};

}  // namespace

std::shared_ptr<Storage> Storage::make(std::size_t bytes) {
  return std::make_shared<HeapStorage>(bytes);
}

Tensor Tensor::zeros(Shape shape, DType dtype) {
  return Tensor{Storage::make(static_cast<std::size_t>(shape.elements()) * bytes_of(dtype)), 0,
                dtype, shape};
}

Tensor Tensor::flat(std::int64_t begin, std::int64_t count) const {
  MUSTER_ASSERT(begin >= 0 && count >= 0 && begin + count <= elements(),
                "a flat range lies inside its tensor");
  return Tensor{storage, offset_bytes + static_cast<std::size_t>(begin) * bytes_of(dtype), dtype,
                Shape{count}};
}

Tensor Tensor::reshaped(Shape to) const {
  MUSTER_ASSERT(to.elements() == elements(), "a reshape keeps the number of elements");
  return Tensor{storage, offset_bytes, dtype, to};
}

Tensor Tensor::clone() const {
  auto copy = zeros(shape, dtype);
  if (bytes() > 0) std::memcpy(copy.data(), data(), bytes());
  return copy;
}

std::string to_string(Shape const& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.dims(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace muster::worker
