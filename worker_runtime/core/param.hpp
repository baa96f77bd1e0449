// SPDX-License-Identifier: Apache-2.0
#pragma once
// A named parameter. Its address is stable, its storage is not: Parallel implementations rebind
// value and gradient (into buckets, into shards), so ask for them at each use and keep no pointer.

#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace muster::worker {

// How fresh values are drawn: uniform in [low, high] (torch's Linear uses +-1/sqrt(fan_in)), or a
// constant. Draws are Philox keyed by (seed, parameter name, element): any range can be initialised
// alone.
struct Init {
  enum class Kind : std::uint8_t { constant, uniform } kind = Kind::constant;
  float low = 0.0F;  // also the constant
  float high = 0.0F;
};

struct ParamSpec {
  std::string name{};  // as in torch's state_dict: "0.weight"
  DType dtype = DType::f32;
  Shape shape{};
  Init init{};
  bool trainable = true;
  bool decay = true;  // weight decay applies (biases and norms say no)
};

class Param {
 public:
  explicit Param(ParamSpec spec) : spec_(std::move(spec)) {}
  Param(Param const&) = delete;
  Param& operator=(Param const&) = delete;

  ParamSpec const& spec() const { return spec_; }
  Tensor value() const { return value_; }
  Tensor grad() const { return grad_; }  // bound by Parallel::begin(); backwards add to it

  void bind_value(Tensor value) { value_ = std::move(value); }
  void bind_grad(Tensor grad) { grad_ = std::move(grad); }
  void set_trainable(bool trainable) { spec_.trainable = trainable; }  // before parallelize() only
  void rename(std::string name) {
    spec_.name = std::move(name);
  }  // Module's, when a tree is assembled

 private:
  ParamSpec spec_;
  Tensor value_, grad_;
};

}  // namespace muster::worker
