// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every process group must do, whatever carries it: the same cases for threads and TCP. Each
// rank is a thread with its own group.

#include "worker_runtime/comm/process_group.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::worker::cases {

using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

// Runs `body` on a thread for each rank and returns what each ended with.
std::vector<Result<void>> on_all_ranks(
    Groups const& groups, std::function<Result<void>(ProcessGroup&, int rank)> const& body);

// Each of these fails with a text that names rank, operation and element.
std::vector<std::string> check_reductions(Groups const& groups, std::uint64_t seed);
std::vector<std::string> check_moves(Groups const& groups, std::uint64_t seed);
std::vector<std::string> check_queue(Groups const& groups);
std::vector<std::string> check_split(Groups const& groups);

// The reference: the parts summed in tree order.
Tensor tree_sum(std::vector<Tensor> const& parts);
Tensor random_tensor(std::int64_t count, DType dtype, std::uint64_t seed);
bool same_bits(Tensor const& a, Tensor const& b);

}  // namespace muster::worker::cases
