// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a worker is started with: argument list and environment, exactly torchrun's (its
// local_elastic_agent.py, _start_workers) plus MUSTER_*. Pure.

#include "launcher/agent/membership_link.hpp"
#include "launcher/cli/options.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::launch {

// What holds for all workers of this node in all rounds.
struct NodeFacts {
  int local_world_size = 1;
  std::string interpreter;  // environment/interpreter.hpp; empty for --no-python
  int cpus_per_worker = 1;  // environment/machine.hpp
};

struct WorkerProgram {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH if it has no slash
  std::map<std::string, std::string, std::less<>> environment;  // the whole of it
};

// `error_file` is the worker's TORCHELASTIC_ERROR_FILE: a path, or empty. Errors: bad_input if
// --virtual-local-rank finds fewer entries in CUDA_VISIBLE_DEVICES than workers.
Result<WorkerProgram> worker_program(EnvView const& parent, RunOptions const& options,
                                     NodeFacts const& node, RoundView const& round, int local_rank,
                                     std::string const& error_file);

// string.Template.safe_substitute(local_rank=...): ${local_rank} and $local_rank become the number,
// $$ becomes $, everything else stays.
std::string substitute_local_rank(std::string_view text, int local_rank);

}  // namespace muster::launch
