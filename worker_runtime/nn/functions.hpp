// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tape nodes that are not layers: losses and sums of variables. Losses are sums over the batch; the
// window's local_weight says what a mean divides by.

#include "worker_runtime/nn/tape.hpp"

namespace muster::worker {

// logits [rows, classes], labels i64 [rows]. With local_weight = rows: torch's cross_entropy.
Var softmax_cross_entropy(Tape& tape, Var logits, Tensor const& labels);

// Sum of squared differences, same shapes. With local_weight = number of elements: torch's
// mse_loss.
Var squared_error(Tape& tape, Var prediction, Tensor const& target);

// a + b, same shapes: a residual connection.
Var add(Tape& tape, Var a, Var b);

}  // namespace muster::worker
