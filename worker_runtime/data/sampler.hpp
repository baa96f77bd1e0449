// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which samples a rank sees in an epoch, and in which order: torch's DistributedSampler
// (torch/utils/data/distributed.py), bit for bit, that also advances to the next epoch by itself
// and resumes in the middle of one, at the same or another number of ranks. Pure; one thread.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace muster::worker {

// What happens when the samples do not divide by the number of ranks.
enum class Tail : std::uint8_t {
  pad,    // torch's default: the first samples of the order are repeated until they do
  drop,   // torch's drop_last: the last ones are left out
  exact,  // every sample once, so ranks may differ by one: for evaluation
};

struct SamplerOptions {
  std::int64_t size = 0;  // samples in the data set
  int replicas = 1;
  int rank = 0;
  std::uint64_t seed = 0;
  bool shuffle = true;
  Tail tail = Tail::pad;
};

// Where all ranks together stand. It names no rank, so any number of ranks can go on from it.
struct SamplerState {
  std::int64_t size = 0;
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t consumed = 0;  // of the epoch's order, by all ranks together; at most `size`

  friend bool operator==(SamplerState const&, SamplerState const&) = default;
};

// Rows that a rank draws at once. Repeated ones (Tail::pad) come last, at the end of an epoch only.
struct Draw {
  std::vector<std::int64_t> rows;
  std::int64_t padding = 0;  // how many of the last rows are repeats
  bool over = false;         // the epoch is over, for all ranks; no rows then
};

class DistributedSampler {
 public:
  static Result<DistributedSampler> make(SamplerOptions options);

  // Starts `epoch` from its beginning. Not needed in a plain loop: next() moves on by itself.
  void set_epoch(std::int64_t epoch);
  // Goes on where `state` was taken; its size and seed must be this sampler's.
  Result<void> resume(SamplerState const& state);
  SamplerState state() const;

  // The next `count` rows of this rank, fewer at the end. No rows: the epoch is over, and the next
  // call begins the next epoch.
  Draw next(std::int64_t count);
  // This rank's part of the next `count` samples of all ranks together; never a repeated one. A
  // step of a given size so takes the same samples whatever the number of ranks. Parts differ by
  // one at most, and may be empty: only `over` says that the epoch is.
  Draw next_together(std::int64_t count);

  // All that next() would still give in this epoch.
  std::vector<std::int64_t> remaining() const;
  std::int64_t remaining_count() const;
  std::int64_t epoch() const { return epoch_; }

 private:
  explicit DistributedSampler(SamplerOptions options) : options_(options) {}
  std::int64_t drawn_in_epoch() const;  // rows this rank draws between start_ and the epoch's end
  void order_epoch();

  SamplerOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t start_ = 0;     // samples consumed under another layout before this one took over
  std::int64_t position_ = 0;  // rows this rank drew since
  std::vector<std::int64_t> order_;
};

// torch.randperm(n) of a CPU generator after manual_seed(seed), for n below 2^32 / 20
// (aten/src/ATen/native/TensorFactories.cpp, randperm_cpu; larger n use another method there).
inline constexpr std::int64_t kMaxPermuted = 0xFFFFFFFFLL / 20;
std::vector<std::int64_t> torch_randperm(std::int64_t n, std::uint64_t seed);

}  // namespace muster::worker
