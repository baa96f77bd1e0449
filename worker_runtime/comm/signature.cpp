// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/signature.hpp"

#include "worker_runtime/collectives/kernels.hpp"

#include <cmath>

namespace muster::worker {
namespace {

Error refuse(Collective const& collective, std::string const& seen, std::string hint = {}) {
  auto what = std::string(name_of(collective.kind));
  if (collective.site != nullptr) what += " (" + std::string(collective.site) + ")";
  return Error{Errc::bad_input, what + ": " + seen, std::move(hint)};
}

std::string size_text(Tensor const& tensor) {
  return std::to_string(tensor.elements()) + " x " + std::string(name_of(tensor.dtype));
}

// Elements of rank's slice, by counts or evenly.
std::int64_t slice_elements(Collective const& collective, std::int64_t whole,
                            GroupShape const& shape) {
  return collective.counts.empty() ? whole / shape.size
                                   : collective.counts[static_cast<std::size_t>(shape.rank)];
}

Result<void> check_memory(Collective const& collective, Tensor const& tensor, char const* name) {
  if (tensor.bytes() == 0) return ok();
  if (!tensor.storage || tensor.offset_bytes + tensor.bytes() > tensor.storage->bytes())
    return refuse(collective,
                  std::string(name) + " (" + size_text(tensor) + ") reaches outside its storage");
  if (reinterpret_cast<std::uintptr_t>(tensor.data()) % bytes_of(tensor.dtype) != 0)
    return refuse(collective, std::string(name) + " is not aligned for its elements");
  return ok();
}

bool overlap(Tensor const& a, Tensor const& b) {
  return a.bytes() > 0 && b.bytes() > 0 && a.data() < b.data() + b.bytes() &&
         b.data() < a.data() + a.bytes();
}

Result<void> check_counts(Collective const& collective, std::int64_t whole,
                          GroupShape const& shape) {
  if (collective.counts.empty()) {
    if (whole % shape.size == 0) return ok();
    return refuse(collective,
                  std::to_string(whole) + " elements do not divide by " +
                      std::to_string(shape.size) + " ranks",
                  "pass counts, one for each rank");
  }
  if (static_cast<int>(collective.counts.size()) != shape.size)
    return refuse(collective, std::to_string(collective.counts.size()) + " counts for " +
                                  std::to_string(shape.size) + " ranks");
  std::int64_t sum = 0;
  for (auto const count : collective.counts) {
    if (count < 0) return refuse(collective, "a count is negative");
    sum += count;
  }
  if (sum != whole)
    return refuse(collective, "counts add up to " + std::to_string(sum) + ", the vector has " +
                                  std::to_string(whole) + " elements");
  return ok();
}

// reduce_scatter's in and all_gather's out are `whole`; the other tensor is this rank's slice. The
// two may share bytes only where the slice lies in its own place.
Result<void> check_slices(Collective const& collective, Tensor const& whole, Tensor const& slice,
                          GroupShape const& shape) {
  MUSTER_CHECK(check_counts(collective, whole.elements(), shape));
  auto const expected = slice_elements(collective, whole.elements(), shape);
  if (slice.elements() != expected || slice.dtype != whole.dtype)
    return refuse(collective, "this rank's slice is " + size_text(slice) + ", expected " +
                                  std::to_string(expected) + " x " +
                                  std::string(name_of(whole.dtype)));
  auto const place = slice_of(plan_request_of(collective, shape), shape.rank);
  auto const* own = whole.data() + static_cast<std::size_t>(place.begin) * bytes_of(whole.dtype);
  if (overlap(whole, slice) && slice.data() != own)
    return refuse(collective, "in and out overlap, but not at this rank's slice");
  return ok();
}

Result<void> check_reduction(Collective const& collective) {
  if (!is_reducible(collective.in.dtype))
    return refuse(collective,
                  "elements of " + std::string(name_of(collective.in.dtype)) + " are not reduced",
                  "use F32, F64, I64 or I32");
  auto const floating = collective.in.dtype == DType::f32 || collective.in.dtype == DType::f64;
  if (collective.factor != 1.0 && !floating)
    return refuse(collective, "a factor needs floating elements, these are " +
                                  std::string(name_of(collective.in.dtype)));
  if (!std::isfinite(collective.factor)) return refuse(collective, "the factor is not finite");
  return ok();
}

Result<void> check_in_place(Collective const& collective) {
  auto const& in = collective.in;
  auto const& out = collective.out;
  if (in.elements() != out.elements() || in.dtype != out.dtype)
    return refuse(collective, "in is " + size_text(in) + ", out is " + size_text(out));
  if (overlap(in, out) && in.data() != out.data())
    return refuse(collective, "in and out overlap without being the same");
  return ok();
}

// FNV-1a: only equality matters.
std::uint32_t hash_of(std::vector<std::int64_t> const& counts) {
  std::uint32_t hash = 2'166'136'261U;
  for (auto const count : counts)
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ static_cast<std::uint32_t>((static_cast<std::uint64_t>(count) >> (8 * byte)) &
                                                0xFF)) *
             16'777'619U;
  return counts.empty() ? 0 : hash;
}

}  // namespace

Result<void> check_collective(Collective const& collective, GroupShape const& shape) {
  if (collective.stream.native != nullptr)
    return refuse(collective, "a stream was given, but this group runs on CPUs");
  if (collective.kind == OpKind::barrier) return ok();
  MUSTER_CHECK(check_memory(collective, collective.in, "in"));
  MUSTER_CHECK(check_memory(collective, collective.out, "out"));
  if (is_reduction(collective.kind)) MUSTER_CHECK(check_reduction(collective));
  switch (collective.kind) {
    case OpKind::barrier:
    case OpKind::all_reduce:
      return check_in_place(collective);
    case OpKind::broadcast:
      if (collective.peer < 0 || collective.peer >= shape.size)
        return refuse(collective, "root " + std::to_string(collective.peer) +
                                      " is outside a group of " + std::to_string(shape.size));
      return check_in_place(collective);
    case OpKind::reduce_scatter:
      return check_slices(collective, collective.in, collective.out, shape);
    case OpKind::all_gather:
      return check_slices(collective, collective.out, collective.in, shape);
  }
  return ok();
}

Signature signature_of(Collective const& collective, int size) {
  Signature signature;
  signature.kind = collective.kind;
  if (collective.kind == OpKind::barrier) return signature;
  auto const& whole = collective.kind == OpKind::reduce_scatter ? collective.in : collective.out;
  signature.dtype = whole.dtype;
  signature.elements = whole.elements();
  if (collective.kind == OpKind::broadcast) signature.root = collective.peer;
  if (is_reduction(collective.kind)) {
    signature.op = collective.op;
    signature.factor = collective.factor;
  }
  if (static_cast<int>(collective.counts.size()) == size)
    signature.counts_hash = hash_of(collective.counts);
  return signature;
}

PlanRequest plan_request_of(Collective const& collective, GroupShape const& shape) {
  auto const signature = signature_of(collective, shape.size);
  PlanRequest request;
  request.kind = collective.kind;
  request.rank = shape.rank;
  request.size = shape.size;
  request.root = signature.root;
  request.count = signature.elements;
  request.counts = collective.counts;
  request.algorithm =
      choose_algorithm(collective.kind, shape.size,
                       signature.elements * static_cast<std::int64_t>(bytes_of(signature.dtype)));
  return request;
}

std::string describe(Signature const& signature, char const* site) {
  std::string text(name_of(signature.kind));
  if (is_reduction(signature.kind)) text += " " + std::string(name_of(signature.op));
  if (signature.kind != OpKind::barrier)
    text +=
        " of " + std::to_string(signature.elements) + " x " + std::string(name_of(signature.dtype));
  if (signature.kind == OpKind::broadcast) text += " from rank " + std::to_string(signature.root);
  if (signature.factor != 1.0) text += " times " + std::to_string(signature.factor);
  if (signature.counts_hash != 0) text += " with uneven counts";
  if (site != nullptr) text += " (" + std::string(site) + ")";
  return text;
}

}  // namespace muster::worker
