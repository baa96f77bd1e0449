// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/local_reduce.hpp"

#include "worker_runtime/comm/signature.hpp"

#include <cstring>

namespace muster::worker {
namespace {

using Ranks = std::span<Collective const* const>;

// A block is reduced and handed out while it is in cache.
constexpr std::size_t kBlockBytes = 32 << 10;

void copy_bytes(std::byte* to, std::byte const* from, std::size_t count) {
  if (count > 0 && to != from) std::memcpy(to, from, count);
}

// Reduces elements [begin, begin + count) of all inputs into `out`.
void reduce_range(Ranks by_rank, TreeReducer& reducer, std::byte* out, std::size_t begin,
                  std::size_t count) {
  auto const& first = *by_rank[0];
  auto const dtype = first.in.dtype;
  std::vector<std::byte const*> parties;
  parties.reserve(by_rank.size());
  for (auto const* rank : by_rank) parties.push_back(rank->in.data() + begin * bytes_of(dtype));
  reducer.reduce(first.op, dtype, out, parties, count);
  if (first.factor != 1.0) scale(dtype, out, first.factor, count);
}

void all_reduce_locally(Ranks by_rank, TreeReducer& reducer) {
  auto const& first = *by_rank[0];
  auto const element = bytes_of(first.in.dtype);
  auto const total = static_cast<std::size_t>(first.in.elements());
  auto const block = kBlockBytes / element;
  for (std::size_t done = 0; done < total; done += block) {
    auto const count = std::min(block, total - done);
    auto* out = first.out.data() + done * element;
    reduce_range(by_rank, reducer, out, done, count);
    for (auto const* rank : by_rank.subspan(1))
      copy_bytes(rank->out.data() + done * element, out, count * element);
  }
}

PlanRequest request_for(Ranks by_rank) {
  GroupShape shape;
  shape.size = static_cast<int>(by_rank.size());
  return plan_request_of(*by_rank[0], shape);
}

void reduce_scatter_locally(Ranks by_rank, TreeReducer& reducer) {
  auto const request = request_for(by_rank);
  for (int rank = 0; rank < request.size; ++rank) {
    auto const slice = slice_of(request, rank);
    if (slice.count() == 0) continue;
    reduce_range(by_rank, reducer, by_rank[static_cast<std::size_t>(rank)]->out.data(),
                 static_cast<std::size_t>(slice.begin), static_cast<std::size_t>(slice.count()));
  }
}

void all_gather_locally(Ranks by_rank) {
  auto const request = request_for(by_rank);
  auto const element = bytes_of(by_rank[0]->out.dtype);
  for (auto const* to : by_rank)
    for (int rank = 0; rank < request.size; ++rank) {
      auto const slice = slice_of(request, rank);
      copy_bytes(to->out.data() + static_cast<std::size_t>(slice.begin) * element,
                 by_rank[static_cast<std::size_t>(rank)]->in.data(),
                 static_cast<std::size_t>(slice.count()) * element);
    }
}

void broadcast_locally(Ranks by_rank) {
  auto const& source = by_rank[static_cast<std::size_t>(by_rank[0]->peer)]->in;
  for (auto const* to : by_rank) copy_bytes(to->out.data(), source.data(), source.bytes());
}

}  // namespace

void run_locally(Ranks by_rank, TreeReducer& reducer) {
  switch (by_rank[0]->kind) {
    case OpKind::all_reduce:
      return all_reduce_locally(by_rank, reducer);
    case OpKind::reduce_scatter:
      return reduce_scatter_locally(by_rank, reducer);
    case OpKind::all_gather:
      return all_gather_locally(by_rank);
    case OpKind::broadcast:
      return broadcast_locally(by_rank);
    case OpKind::barrier:
      return;
  }
}

}  // namespace muster::worker
