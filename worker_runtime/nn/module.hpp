// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tree of layers. Constructors only declare parameters; materialize() or parallelize() allocates
// and initialises. Names join with dots as in torch's state_dict: child "0", parameter "weight" ->
// "0.weight". A weight is tied by calling one module twice, or by giving a layer another's Param.

#include "worker_runtime/core/param.hpp"
#include "worker_runtime/nn/tape.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace muster::worker {

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(Module const&) = delete;
  Module& operator=(Module const&) = delete;

  // Enters, runs forward() and leaves, telling the tape's Parallel; in backward the other way
  // round.
  Var operator()(Tape& tape, Var in);

  // Every parameter of the tree, depth first in declaration order, with full names. Stable
  // addresses.
  std::vector<Param*> parameters();

 protected:
  virtual Var forward(Tape& tape, Var in) = 0;
  Param& declare(ParamSpec spec);
  void child(std::string name, Module& module);  // not owned; lives as long as this

 private:
  std::deque<Param> params_;
  std::vector<std::pair<std::string, Module*>> children_;
  std::string prefix_;
  bool attached_ = false;  // is somebody's child

  void rename_under(std::string const& prefix);
};

// Allocates values of every parameter and draws them from (seed, name, element).
void materialize(Module& root, std::uint64_t seed);

}  // namespace muster::worker
