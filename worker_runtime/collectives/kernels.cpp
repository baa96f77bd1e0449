// SPDX-License-Identifier: Apache-2.0
// Plain loops for the vectoriser: these are bound by memory, and a segment is in cache when it gets
// here.
#include "worker_runtime/collectives/kernels.hpp"

#include "worker_runtime/collectives/reduction_order.hpp"

#include <cstring>
#include <type_traits>

// Operands are either the same array or disjoint, so no iteration depends on another.
#if defined(__clang__)
#define MUSTER_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define MUSTER_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace muster::worker {
namespace {

template <class T>
T add(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wide>(left) + static_cast<Wide>(right));
  } else {
    return left + right;
  }
}

// A comparison with NaN is false, so "keep right unless left is beyond it or left is NaN".
template <class T>
T least(T left, T right) {
  return left < right || left != left ? left : right;
}
template <class T>
T greatest(T left, T right) {
  return left > right || left != left ? left : right;
}

template <class T>
void combine_typed(ReduceOp op, T* out, T const* left, T const* right, std::size_t count) {
  switch (op) {
    case ReduceOp::sum:
      MUSTER_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) out[i] = add(left[i], right[i]);
      return;
    case ReduceOp::min:
      MUSTER_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) out[i] = least(left[i], right[i]);
      return;
    case ReduceOp::max:
      MUSTER_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) out[i] = greatest(left[i], right[i]);
      return;
  }
}

template <class T>
void combine_bytes(ReduceOp op, std::byte* out, std::byte const* left, std::byte const* right,
                   std::size_t count) {
  combine_typed(op, reinterpret_cast<T*>(out), reinterpret_cast<T const*>(left),
                reinterpret_cast<T const*>(right), count);
}

template <class T>
void scale_typed(T* data, double factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    data[i] = static_cast<T>(static_cast<double>(data[i]) * factor);
}

// Bytes of one partial result: small enough that a tree of partials stays in the L1/L2 cache.
constexpr std::size_t kBlockBytes = 8'192;

struct BlockTree {
  ReduceOp op;
  DType dtype;
  std::span<std::byte const* const> parties;
  std::size_t offset_bytes;
  std::size_t count;
  std::byte* scratch;

  // The reduction of parties [first, first + n): a party's own bytes, or a partial at `depth`.
  std::byte const* partial(int first, int n, int depth, bool right_side) const {
    if (n == 1) return parties[static_cast<std::size_t>(first)] + offset_bytes;
    auto const slot = static_cast<std::size_t>(2 * depth + (right_side ? 1 : 0));
    auto* out = scratch + slot * kBlockBytes;
    join(first, n, depth, out);
    return out;
  }

  void join(int first, int n, int depth, std::byte* out) const {
    auto const split = tree_split(n);
    auto const* left = partial(first, split, depth + 1, false);
    auto const* right = partial(first + split, n - split, depth + 1, true);
    combine(op, dtype, out, left, right, count);
  }
};

int tree_depth(int n) {
  int depth = 0;
  for (int reach = 1; reach < n; reach *= 2) ++depth;
  return depth;
}

}  // namespace

bool is_reducible(DType dtype) {
  return dtype != DType::u8;
}

void combine(ReduceOp op, DType dtype, std::byte* out, std::byte const* left,
             std::byte const* right, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      return combine_bytes<float>(op, out, left, right, count);
    case DType::f64:
      return combine_bytes<double>(op, out, left, right, count);
    case DType::i64:
      return combine_bytes<std::int64_t>(op, out, left, right, count);
    case DType::i32:
      return combine_bytes<std::int32_t>(op, out, left, right, count);
    case DType::u8:
      break;
  }
  MUSTER_ASSERT(false, "only f32, f64, i64 and i32 are reduced");
}

void scale(DType dtype, std::byte* data, double factor, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      return scale_typed(reinterpret_cast<float*>(data), factor, count);
    case DType::f64:
      return scale_typed(reinterpret_cast<double*>(data), factor, count);
    case DType::i64:
    case DType::i32:
    case DType::u8:
      break;
  }
  MUSTER_ASSERT(false, "only f32 and f64 are scaled");
}

void TreeReducer::reduce(ReduceOp op, DType dtype, std::byte* out,
                         std::span<std::byte const* const> parties, std::size_t count) {
  auto const n = static_cast<int>(parties.size());
  auto const element = bytes_of(dtype);
  if (n == 0 || count == 0) return;
  if (n == 1) {
    if (out != parties[0]) std::memcpy(out, parties[0], count * element);
    return;
  }
  if (n == 2) return combine(op, dtype, out, parties[0], parties[1], count);
  auto const needed = static_cast<std::size_t>(2 * (tree_depth(n) + 1)) * kBlockBytes;
  if (scratch_.size() < needed) scratch_.resize(needed);
  auto const block = kBlockBytes / element;
  for (std::size_t done = 0; done < count; done += block) {
    auto const here = std::min(block, count - done);
    BlockTree const tree{op, dtype, parties, done * element, here, scratch_.data()};
    tree.join(0, n, 0, out + done * element);
  }
}

Tensor tree_reduced(std::span<Tensor const> parts, ReduceOp op) {
  MUSTER_ASSERT(!parts.empty(), "a reduction has at least one part");
  auto result = Tensor::zeros(parts[0].shape, parts[0].dtype);
  std::vector<std::byte const*> parties;
  for (auto const& part : parts) {
    MUSTER_ASSERT(part.shape == result.shape && part.dtype == result.dtype,
                  "the parts of a reduction have one shape and dtype");
    parties.push_back(part.data());
  }
  TreeReducer reducer;
  reducer.reduce(op, result.dtype, result.data(), parties,
                 static_cast<std::size_t>(result.elements()));
  return result;
}

}  // namespace muster::worker
