// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/collectives/plan.hpp"

#include "rendezvous/base/assert.hpp"

namespace muster::worker {
namespace {

// Everybody but `rank`, starting behind it, so that not all ranks call on rank 0 first.
template <class Visit>
void for_each_other(int rank, int size, Visit const& visit) {
  for (int step = 1; step < size; ++step) visit((rank + step) % size);
}

// One round in which every rank reduces its `mine` from all ranks' contributions.
Round gather_and_combine(PlanRequest const& request, Range mine, bool slices) {
  Round round;
  round.kind = RoundKind::combine;
  round.range = mine;
  round.own = request.rank;
  round.last = true;
  for_each_other(request.rank, request.size, [&](int peer) {
    round.sends.push_back(Transfer{peer, slices ? slice_of(request, peer) : mine});
  });
  for (int peer = 0; peer < request.size; ++peer)
    if (peer != request.rank) round.receives.push_back(Transfer{peer, mine});
  return round;
}

Round spread_slices(PlanRequest const& request) {
  Round round;
  auto const mine = slice_of(request, request.rank);
  for_each_other(request.rank, request.size, [&](int peer) {
    round.sends.push_back(Transfer{peer, mine});
    round.receives.push_back(Transfer{peer, slice_of(request, peer)});
  });
  return round;
}

// Distances 1, 2, 4, ...: after the step of distance d a rank holds the tree of its aligned group
// of 2d ranks, the lower half on the left.
Round combine_with(int peer, int rank, Range sent, Range kept) {
  Round round;
  round.kind = RoundKind::combine;
  round.range = kept;
  round.own = rank < peer ? 0 : 1;
  round.sends.push_back(Transfer{peer, sent});
  round.receives.push_back(Transfer{peer, kept});
  return round;
}

Plan recursive_doubling(PlanRequest const& request) {
  Plan plan;
  Range const all{0, request.count};
  for (int distance = 1; distance < request.size; distance *= 2)
    plan.rounds.push_back(combine_with(request.rank ^ distance, request.rank, all, all));
  plan.rounds.back().last = true;
  return plan;
}

Plan halving_doubling(PlanRequest const& request) {
  Plan plan;
  std::vector<Range> kept_at, sent_at;
  Range held{0, request.count};
  for (int distance = 1; distance < request.size; distance *= 2) {
    auto const middle = held.begin + (held.count() + 1) / 2;
    Range const low{held.begin, middle}, high{middle, held.end};
    auto const keeps_low = (request.rank & distance) == 0;
    kept_at.push_back(keeps_low ? low : high);
    sent_at.push_back(keeps_low ? high : low);
    held = kept_at.back();
    plan.rounds.push_back(
        combine_with(request.rank ^ distance, request.rank, sent_at.back(), held));
  }
  plan.rounds.back().last = true;
  for (int distance = request.size / 2; distance >= 1; distance /= 2) {
    Round round;
    auto const sibling = sent_at.back();
    round.sends.push_back(Transfer{request.rank ^ distance, held});
    round.receives.push_back(Transfer{request.rank ^ distance, sibling});
    plan.rounds.push_back(std::move(round));
    held = Range{std::min(held.begin, sibling.begin), std::max(held.end, sibling.end)};
    sent_at.pop_back();
  }
  return plan;
}

// Rank v (counted from the root) hears from v minus its lowest bit and tells v + 1, 2, 4, ... below
// that bit, the farthest first: those have the longest way to go on.
Plan binomial(PlanRequest const& request) {
  auto const virtual_rank = (request.rank - request.root + request.size) % request.size;
  auto const real = [&](int v) { return (v + request.root) % request.size; };
  Range const all{0, request.count};
  Round round;
  round.kind = RoundKind::relay;
  int reach = 1;
  while (reach < request.size && (virtual_rank & reach) == 0) reach *= 2;
  if (virtual_rank != 0) round.receives.push_back(Transfer{real(virtual_rank - reach), all});
  for (int distance = reach / 2; distance >= 1; distance /= 2)
    if (virtual_rank + distance < request.size)
      round.sends.push_back(Transfer{real(virtual_rank + distance), all});
  Plan plan;
  plan.rounds.push_back(std::move(round));
  return plan;
}

Plan dissemination(PlanRequest const& request) {
  Plan plan;
  for (int distance = 1; distance < request.size; distance *= 2) {
    Round round;
    round.sends.push_back(Transfer{(request.rank + distance) % request.size, {}});
    round.receives.push_back(Transfer{(request.rank - distance + request.size) % request.size, {}});
    plan.rounds.push_back(std::move(round));
  }
  return plan;
}

// Below this an exchange costs its latency, above it its bytes.
constexpr std::int64_t kLatencyBoundBytes = 32 << 10;
// All-to-all of everything is worth its bytes while they are few.
constexpr std::int64_t kOneShotBytes = 128 << 10;

}  // namespace

Range slice_of(PlanRequest const& request, int rank) {
  if (request.counts.empty())
    return Range{request.count * rank / request.size, request.count * (rank + 1) / request.size};
  Range slice;
  for (int i = 0; i < rank; ++i) slice.begin += request.counts[static_cast<std::size_t>(i)];
  slice.end = slice.begin + request.counts[static_cast<std::size_t>(rank)];
  return slice;
}

Plan make_plan(PlanRequest const& request) {
  MUSTER_ASSERT(request.rank >= 0 && request.rank < request.size, "a rank is inside its group");
  Plan plan;
  switch (request.algorithm) {
    case Algorithm::recursive_doubling:
    case Algorithm::halving_doubling:
      MUSTER_ASSERT(request.size > 1 && is_power_of_two(request.size),
                    "doubling needs a power of two");
      return request.algorithm == Algorithm::recursive_doubling ? recursive_doubling(request)
                                                                : halving_doubling(request);
    case Algorithm::one_shot:
      plan.rounds.push_back(gather_and_combine(request, Range{0, request.count}, false));
      return plan;
    case Algorithm::slices:
      plan.rounds.push_back(gather_and_combine(request, slice_of(request, request.rank), true));
      if (request.kind == OpKind::all_reduce) plan.rounds.push_back(spread_slices(request));
      return plan;
    case Algorithm::direct:
      plan.rounds.push_back(spread_slices(request));
      return plan;
    case Algorithm::binomial:
      return binomial(request);
    case Algorithm::dissemination:
      return dissemination(request);
  }
  return plan;
}

Algorithm choose_algorithm(OpKind kind, int size, std::int64_t bytes) {
  switch (kind) {
    case OpKind::broadcast:
      return Algorithm::binomial;
    case OpKind::reduce_scatter:
      return Algorithm::slices;
    case OpKind::all_gather:
      return Algorithm::direct;
    case OpKind::barrier:
      return Algorithm::dissemination;
    case OpKind::all_reduce:
      break;
  }
  if (size == 1) return Algorithm::one_shot;
  if (is_power_of_two(size))
    return bytes <= kLatencyBoundBytes ? Algorithm::recursive_doubling
                                       : Algorithm::halving_doubling;
  return bytes * size <= kOneShotBytes ? Algorithm::one_shot : Algorithm::slices;
}

}  // namespace muster::worker
