// SPDX-License-Identifier: Apache-2.0
#pragma once
// DDP: every rank holds the whole model; gradients are summed over ranks in buckets while backward
// goes on, then divided by the window's global weight. The first synchronised backward tells the
// order of the buckets; its own gradients are sent after it. Buckets go out in one order on all
// ranks, whatever becomes ready first. The training loop's thread.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"
#include "worker_runtime/core/parallel.hpp"
#include "worker_runtime/ddp/bucket_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::worker {

class Reducer final : public Parallel {
 public:
  // `params`: all of the model, in registration order, with values. See parallelize().
  Reducer(ProcessGroup& group, std::vector<Param*> params, BucketLimits limits);

  void begin(Window window) override;
  void loss(double value) override;
  void enter(Module&, Phase) override {}
  void leave(Module&, Phase) override {}
  void ready(Param& param) override;
  Result<void> finish() override;
  bool finished() const override { return finished_; }
  std::span<ShardView> shards() override;

  // Empty before the first synchronised window ended.
  BucketPlan const& plan() const { return plan_; }

 private:
  struct Bucket {
    Tensor flat;
    std::size_t missing = 0;  // gradients of this backward that are not ready yet
    Work work;
  };

  void zero_gradients();
  void arm();
  Result<void> adopt_plan();
  Result<std::vector<std::size_t>> agree_on_order();
  Result<void> move_gradients();
  void launch(std::size_t index);
  void send_head();
  void note_bad_gradient(std::size_t index);
  Result<double> global_weight();
  Result<void> settle_buckets(double weight);
  Error explain_loss(std::vector<std::int64_t> const& ranks) const;
  Result<void> explain_gradient(std::size_t param);
  void fail(Error error);
  std::string at_step() const { return "step " + std::to_string(window_.step); }

  ProcessGroup& group_;
  BucketLimits limits_;
  std::vector<Param*> params_;  // trainable ones, in registration order
  std::unordered_map<Param const*, std::size_t> index_of_;
  std::vector<ShardView> shards_;

  BucketPlan plan_;
  std::vector<Bucket> buckets_;           // none until the plan is adopted
  std::vector<std::size_t> bucket_of_;    // by parameter
  std::vector<std::size_t> ready_order_;  // of the first synchronised backward
  std::vector<bool> ready_;               // in this backward
  std::size_t next_bucket_ = 0;           // buckets before it are under way
  Tensor head_;                           // [weight, ranks with a bad loss], summed over ranks
  std::optional<Work> head_work_;

  Window window_{};
  double weight_ = 0;                        // local, of the window so far
  std::optional<double> bad_loss_;           // the first local loss that is not finite
  std::optional<std::size_t> bad_gradient_;  // the first local parameter whose gradient is not
  std::optional<Error> error_;               // of a call that cannot return one
  bool begun_ = false;                       // a window is open
  bool finished_ = false;
};

}  // namespace muster::worker
