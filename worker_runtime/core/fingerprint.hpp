// SPDX-License-Identifier: Apache-2.0
#pragma once
// A short number for "the same": of models across ranks, of a model and a checkpoint, of trained
// parameters across runs. FNV-1a with 64 bits: for mistakes, not against forgery. Pure.

#include "worker_runtime/core/param.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::worker {

class Fingerprint {
 public:
  void add(std::string_view bytes);
  void add_sized(std::string_view text);  // its length too, so that ("ab", "c") is not ("a", "bc")
  void add(std::uint64_t number);
  void add(Tensor const& tensor);  // its bytes

  std::uint64_t value() const { return hash_; }
  std::string hex() const;  // 16 digits

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// "0.weight: F32 [256, 784], trainable": what must be equal on all ranks.
std::string describe(ParamSpec const& spec);

}  // namespace muster::worker
