// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/linear.hpp"

#include "worker_runtime/cpu/matmul.hpp"
#include "worker_runtime/cpu/rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace muster::worker {
namespace {

// All dimensions but the last are rows.
std::int64_t rows_of(Tensor const& x) {
  return x.shape.dims() == 0 ? 1 : x.elements() / std::max<std::int64_t>(1, x.shape.sizes().back());
}

Shape with_last(Shape const& shape, std::int64_t last) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.back() = last;
  return Shape(std::span<std::int64_t const>(sizes));
}

void keep_error(Tape& tape, Result<void> const& result) {
  if (!result) tape.fail(result.error());
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool bias) {
  auto const bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(in)));
  Init const init{Init::Kind::uniform, -bound, bound};
  weight_ = &declare({.name = "weight", .shape = {out, in}, .init = init});
  uses_.push_back(weight_);
  if (!bias) return;
  bias_ = &declare({.name = "bias", .shape = {out}, .init = init, .decay = false});
  uses_.push_back(bias_);
}

Linear::Linear(Param& tied_weight) : weight_(&tied_weight), uses_{&tied_weight} {
  MUSTER_ASSERT(tied_weight.spec().shape.dims() == 2, "a linear layer's weight is [out, in]");
}

Var Linear::forward(Tape& tape, Var in) {
  auto const x = tape.value(in);
  auto const columns = weight_->spec().shape[1], out_columns = weight_->spec().shape[0];
  if (x.dtype != DType::f32 || x.shape.dims() == 0 || x.shape.sizes().back() != columns) {
    tape.fail({Errc::bad_input,
               "layer of " + weight_->spec().name + ": input of shape " + to_string(x.shape) +
                   " and type " + std::string(name_of(x.dtype)) + ", expected F32 with last size " +
                   std::to_string(columns),
               "fit the layer's sizes to the data"});
    return in;
  }
  auto out = Tensor::zeros(with_last(x.shape, out_columns));
  keep_error(tape,
             cpu::matmul({.m = rows_of(x), .n = out_columns, .k = columns, .transpose_b = true},
                         x.as<float>(), weight_->value().as<float>(), out.as<float>()));
  if (bias_ != nullptr) cpu::add_bias(out.as<float>(), bias_->value().as<float>());
  return tape.record({&in, 1}, std::move(out), uses_,
                     [this, in, x](Tape& t, Tensor const& dout) { backward(t, in, x, dout); });
}

void Linear::backward(Tape& tape, Var in, Tensor const& x, Tensor const& dout) {
  auto const columns = weight_->spec().shape[1], out_columns = weight_->spec().shape[0];
  if (tape.needs_grad(in)) {
    auto dx = Tensor::zeros(x.shape);
    keep_error(tape, cpu::matmul({.m = rows_of(x), .n = columns, .k = out_columns},
                                 dout.as<float>(), weight_->value().as<float>(), dx.as<float>()));
    tape.accumulate(in, std::move(dx));
  }
  if (weight_->spec().trainable)
    keep_error(tape, cpu::matmul({.m = out_columns,
                                  .n = columns,
                                  .k = rows_of(x),
                                  .transpose_a = true,
                                  .accumulate = true},
                                 dout.as<float>(), x.as<float>(), weight_->grad().as<float>()));
  if (bias_ != nullptr && bias_->spec().trainable)
    cpu::add_column_sums(dout.as<float>(), bias_->grad().as<float>());
}

}  // namespace muster::worker
