// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/parallelize.hpp"

#include "worker_runtime/comm/agree.hpp"
#include "worker_runtime/ddp/model_check.hpp"
#include "worker_runtime/ddp/reducer.hpp"
#include "worker_runtime/nn/module.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace muster::worker {
namespace {

constexpr std::size_t kLineBytes = 64;

Result<void> check_supported(std::span<Param* const> params) {
  for (auto const* param : params)
    if (param->spec().dtype != DType::f32)
      return Error{Errc::unsupported,
                   "parameter " + param->spec().name + " is " +
                       std::string(name_of(param->spec().dtype)) + "; F32 is supported",
                   "declare it as F32"};
  if (params.empty())
    return Error{Errc::bad_input, "the model has no parameters", "give it a layer that learns"};
  return ok();
}

// Moves all values into one allocation of the group's, and makes them rank 0's.
Result<void> share_values(ProcessGroup& group, std::span<Param* const> params) {
  std::size_t bytes = 0;
  std::vector<std::size_t> offsets;
  for (auto const* param : params) {
    offsets.push_back(bytes);
    bytes += (param->value().bytes() + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  MUSTER_TRY(auto const storage, group.alloc(bytes, Device::cpu));
  for (std::size_t i = 0; i < params.size(); ++i) {
    auto const old = params[i]->value();
    Tensor const moved{storage, offsets[i], old.dtype, old.shape};
    if (old.bytes() > 0) std::memcpy(moved.data(), old.data(), old.bytes());
    params[i]->bind_value(moved);
  }
  if (bytes == 0) return ok();
  Tensor const all{storage, 0, DType::u8, Shape{static_cast<std::int64_t>(bytes)}};
  return broadcast(group, all, 0, {.site = "rank 0's parameters"}).wait();
}

}  // namespace

Result<std::unique_ptr<Parallel>> parallelize(Module& root, Mesh mesh,
                                              ParallelOptions const& options) {
  auto& group = mesh.replicas();
  auto params = root.parameters();
  MUSTER_CHECK(agree(group, check_supported(params)));
  MUSTER_CHECK(check_same_model(group, params));
  auto const has_value = [](Param const* param) { return param->value().storage != nullptr; };
  if (!std::all_of(params.begin(), params.end(), has_value)) materialize(root, options.seed);
  MUSTER_CHECK(share_values(group, params));
  return std::unique_ptr<Parallel>(
      std::make_unique<Reducer>(group, std::move(params), options.buckets));
}

}  // namespace muster::worker
