// SPDX-License-Identifier: Apache-2.0
// One free function for each operation: they fill in a Collective, check it and submit it.
#include "worker_runtime/comm/process_group.hpp"

#include "worker_runtime/comm/signature.hpp"
#include "worker_runtime/comm/work_state.hpp"

namespace muster::worker {
namespace {

Collective collective_of(OpKind kind, CallOptions options) {
  Collective collective;
  collective.kind = kind;
  collective.op = options.op;
  collective.counts = std::move(options.counts);
  collective.factor = options.factor;
  collective.deadline = options.deadline;
  collective.stream = options.stream;
  collective.site = options.site;
  return collective;
}

Work submit_one(ProcessGroup& group, Collective const& collective) {
  return group.submit(std::span<Collective const>(&collective, 1));
}

}  // namespace

Work all_reduce(ProcessGroup& group, Tensor tensor, CallOptions options) {
  auto collective = collective_of(OpKind::all_reduce, std::move(options));
  collective.in = tensor;
  collective.out = std::move(tensor);
  return submit_one(group, collective);
}

Work broadcast(ProcessGroup& group, Tensor tensor, int root, CallOptions options) {
  auto collective = collective_of(OpKind::broadcast, std::move(options));
  collective.peer = root;
  collective.in = tensor;
  collective.out = std::move(tensor);
  return submit_one(group, collective);
}

Work reduce_scatter(ProcessGroup& group, Tensor in, Tensor out, CallOptions options) {
  auto collective = collective_of(OpKind::reduce_scatter, std::move(options));
  collective.in = std::move(in);
  collective.out = std::move(out);
  return submit_one(group, collective);
}

Work all_gather(ProcessGroup& group, Tensor in, Tensor out, CallOptions options) {
  auto collective = collective_of(OpKind::all_gather, std::move(options));
  collective.in = std::move(in);
  collective.out = std::move(out);
  return submit_one(group, collective);
}

Work barrier(ProcessGroup& group, CallOptions options) {
  return submit_one(group, collective_of(OpKind::barrier, std::move(options)));
}

}  // namespace muster::worker
