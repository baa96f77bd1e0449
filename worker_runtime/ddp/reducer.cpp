// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/reducer.hpp"

#include "worker_runtime/comm/agree.hpp"
#include "worker_runtime/cpu/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace muster::worker {

Reducer::Reducer(ProcessGroup& group, std::vector<Param*> params, BucketLimits limits)
    : group_(group), limits_(limits), head_(Tensor::zeros(Shape{2}, DType::f64)) {
  for (auto* const param : params)
    if (param->spec().trainable) {
      index_of_.emplace(param, params_.size());
      params_.push_back(param);
      param->bind_grad(Tensor::zeros(param->spec().shape));
    }
  ready_.resize(params_.size());
  bucket_of_.resize(params_.size());
}

void Reducer::begin(Window window) {
  if (begun_ && window_.sync)
    fail(Error{Errc::bad_input,
               at_step() + ": begin() before finish() of the last synchronised window",
               "call finish() after each backward with sync"});
  if (!begun_) {
    zero_gradients();
    weight_ = 0;
    bad_loss_.reset();
    bad_gradient_.reset();
  }
  begun_ = true;
  finished_ = false;
  window_ = window;
  weight_ += window.local_weight;
  if (window.sync) arm();
}

void Reducer::zero_gradients() {
  if (buckets_.empty()) {
    for (auto const* param : params_)
      if (auto const grad = param->grad(); grad.bytes() > 0)
        std::memset(grad.data(), 0, grad.bytes());
  }
  for (auto const& bucket : buckets_)
    if (bucket.flat.bytes() > 0) std::memset(bucket.flat.data(), 0, bucket.flat.bytes());
}

// Before a synchronised backward: nothing is ready, nothing under way.
void Reducer::arm() {
  std::fill(ready_.begin(), ready_.end(), false);
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    buckets_[i].missing = plan_.buckets[i].params.size();
  next_bucket_ = 0;
  head_work_.reset();
  ready_order_.clear();
}

void Reducer::loss(double value) {
  if (!std::isfinite(value) && !bad_loss_) bad_loss_ = value;
}

void Reducer::ready(Param& param) {
  if (!window_.sync) return;
  auto const found = index_of_.find(&param);
  if (found == index_of_.end()) return;  // frozen, or of another model
  auto const index = found->second;
  if (ready_[index])
    return fail(Error{
        Errc::bad_input,
        at_step() + ": parameter " + param.spec().name + " became ready twice in one backward",
        "run one backward a window, or open windows without sync before it"});
  ready_[index] = true;
  if (buckets_.empty()) {
    ready_order_.push_back(index);
    return;
  }
  --buckets_[bucket_of_[index]].missing;
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0)
    launch(next_bucket_++);
}

// In bucket order on every rank: what makes ranks submit the same operations.
void Reducer::launch(std::size_t index) {
  if (index == 0) send_head();
  note_bad_gradient(index);
  buckets_[index].work = all_reduce(group_, buckets_[index].flat, {.site = "gradients"});
}

// The weight goes first: gradients that arrive can be divided at once.
void Reducer::send_head() {
  auto const head = head_.as<double>();
  head[0] = weight_;
  head[1] = bad_loss_ ? 1.0 : 0.0;
  head_work_ = all_reduce(group_, head_, {.site = "weight of the window"});
}

// Looked for before the sum hides whose it was.
void Reducer::note_bad_gradient(std::size_t index) {
  if (bad_gradient_ || !cpu::any_non_finite(buckets_[index].flat.as<float>())) return;
  for (auto const param : plan_.buckets[index].params)
    if (cpu::any_non_finite(params_[param]->grad().as<float>())) {
      bad_gradient_ = param;
      return;
    }
}

Result<void> Reducer::finish() {
  if (error_) return *error_;
  if (!begun_ || !window_.sync) return ok();
  begun_ = false;  // also after an error: all ranks have it, and may go on with another window
  if (params_.empty()) {
    finished_ = true;
    return ok();
  }
  if (buckets_.empty()) MUSTER_CHECK(adopt_plan());
  // What the loss did not reach has a zero gradient, which travels too.
  while (next_bucket_ < buckets_.size()) launch(next_bucket_++);
  auto const weight = global_weight();
  if (!weight) {
    for (auto const& bucket : buckets_) MUSTER_CHECK(bucket.work.wait());
    return weight.error();
  }
  MUSTER_CHECK(settle_buckets(*weight));
  finished_ = true;
  return ok();
}

// The same answer on all ranks: it is made of what all of them received.
Result<double> Reducer::global_weight() {
  MUSTER_CHECK(head_work_->wait());
  auto const head = head_.as<double>();
  if (head[1] > 0) {
    auto const bits = bad_loss_ ? std::bit_cast<std::int64_t>(*bad_loss_) : 0;
    MUSTER_TRY(auto const losses, gather_numbers(group_, bits));
    return explain_loss(losses);
  }
  if (!(head[0] > 0))
    return Error{Errc::bad_input,
                 at_step() + ": the window's weight over all ranks is " + std::to_string(head[0]) +
                     ", expected the number of samples in it",
                 "give begin() a local_weight above 0 on at least one rank"};
  return head[0];
}

Error Reducer::explain_loss(std::vector<std::int64_t> const& losses) const {
  auto const bad = std::ranges::find_if(
      losses, [](std::int64_t bits) { return !std::isfinite(std::bit_cast<double>(bits)); });
  return Error{Errc::non_finite,
               at_step() + ", rank " + std::to_string(bad - losses.begin()) + ": the loss is " +
                   std::to_string(std::bit_cast<double>(*bad)),
               "lower the learning rate, or look at the step's input"};
}

// In order of arrival: while one bucket is divided the later ones are still on their way.
Result<void> Reducer::settle_buckets(double weight) {
  std::optional<std::size_t> bad;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    MUSTER_CHECK(buckets_[i].work.wait());
    auto const flat = buckets_[i].flat.as<float>();
    cpu::scale(flat, gradient_factor(weight));
    if (bad || !cpu::any_non_finite(flat)) continue;
    for (auto const param : plan_.buckets[i].params)
      if (!bad && cpu::any_non_finite(params_[param]->grad().as<float>())) bad = param;
  }
  if (!bad) return ok();
  return explain_gradient(*bad);
}

// All ranks see the same sums, so all come here together and can ask whose part it was.
Result<void> Reducer::explain_gradient(std::size_t param) {
  constexpr std::int64_t kNone = -1;
  auto const mine = bad_gradient_ ? static_cast<std::int64_t>(*bad_gradient_) : kNone;
  MUSTER_TRY(auto const all, gather_numbers(group_, mine));
  auto const found = std::ranges::find_if(all, [](std::int64_t each) { return each != kNone; });
  if (found == all.end())
    return Error{Errc::non_finite,
                 at_step() + ": the gradient of " + params_[param]->spec().name +
                     " is finite on each rank, but not its sum",
                 "lower the learning rate, or clip gradients"};
  return Error{Errc::non_finite,
               at_step() + ", rank " + std::to_string(found - all.begin()) + ": the gradient of " +
                   params_[static_cast<std::size_t>(*found)]->spec().name + " is not finite",
               "lower the learning rate, or clip gradients"};
}

Result<void> Reducer::adopt_plan() {
  MUSTER_TRY(auto const order, agree_on_order());
  std::vector<std::int64_t> elements;
  for (auto const* param : params_) elements.push_back(param->spec().shape.elements());
  plan_ = plan_buckets(elements, order, limits_);
  MUSTER_TRY(auto const prints,
             gather_numbers(group_, static_cast<std::int64_t>(plan_.fingerprint())));
  for (std::size_t rank = 1; rank < prints.size(); ++rank)
    if (prints[rank] != prints[0])
      return Error{Errc::mismatch,
                   "rank " + std::to_string(rank) + " packs gradients otherwise than rank 0",
                   "give parallelize() the same bucket sizes on every rank"};
  return move_gradients();
}

// Rank 0's: another rank may have seen another order, where a layer is unused there only.
Result<std::vector<std::size_t>> Reducer::agree_on_order() {
  auto const mine = complete_order(params_.size(), ready_order_);
  auto const order = Tensor::zeros(Shape{static_cast<std::int64_t>(mine.size())}, DType::i64);
  std::ranges::transform(mine, order.as<std::int64_t>().begin(),
                         [](std::size_t index) { return static_cast<std::int64_t>(index); });
  MUSTER_CHECK(broadcast(group_, order, 0, {.site = "order of the buckets"}).wait());
  std::vector<std::size_t> agreed;
  for (auto const index : order.as<std::int64_t>())
    agreed.push_back(static_cast<std::size_t>(index));
  return agreed;
}

Result<void> Reducer::move_gradients() {
  for (auto const& planned : plan_.buckets) {
    auto const bytes = static_cast<std::size_t>(planned.elements) * bytes_of(DType::f32);
    MUSTER_TRY(auto storage, group_.alloc(bytes, Device::cpu));
    Bucket bucket{Tensor{std::move(storage), 0, DType::f32, Shape{planned.elements}}, 0, {}};
    for (std::size_t i = 0; i < planned.params.size(); ++i) {
      auto& param = *params_[planned.params[i]];
      bucket_of_[planned.params[i]] = buckets_.size();
      auto const old = param.grad();
      auto const moved =
          bucket.flat.flat(planned.first_element[i], old.elements()).reshaped(old.shape);
      if (old.bytes() > 0) std::memcpy(moved.data(), old.data(), old.bytes());
      param.bind_grad(moved);
    }
    buckets_.push_back(std::move(bucket));
  }
  return ok();
}

// Built afresh at each call: storage may have moved since the last one.
std::span<ShardView> Reducer::shards() {
  shards_.clear();
  for (auto* const param : params_) {
    auto const count = param->spec().shape.elements();
    shards_.push_back(
        {param, 0, count, param->value().flat(0, count), param->grad().flat(0, count)});
  }
  return shards_;
}

void Reducer::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

}  // namespace muster::worker
