// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contract between launcher and workers: variables, exit codes and store keys, written down
// once. The first block is torchrun's
// (torch/distributed/elastic/agent/server/local_elastic_agent.py); the second is muster's own.

namespace muster::env {

inline constexpr char kLocalRank[] = "LOCAL_RANK";
inline constexpr char kRank[] = "RANK";
inline constexpr char kWorldSize[] = "WORLD_SIZE";
inline constexpr char kGroupRank[] = "GROUP_RANK";
inline constexpr char kGroupWorldSize[] = "GROUP_WORLD_SIZE";
inline constexpr char kRoleName[] = "ROLE_NAME";
inline constexpr char kRoleRank[] = "ROLE_RANK";
inline constexpr char kRoleWorldSize[] = "ROLE_WORLD_SIZE";
inline constexpr char kLocalWorldSize[] = "LOCAL_WORLD_SIZE";
inline constexpr char kMasterAddr[] = "MASTER_ADDR";
inline constexpr char kMasterPort[] = "MASTER_PORT";
inline constexpr char kRestartCount[] = "TORCHELASTIC_RESTART_COUNT";
inline constexpr char kMaxRestarts[] = "TORCHELASTIC_MAX_RESTARTS";
inline constexpr char kRunId[] = "TORCHELASTIC_RUN_ID";
inline constexpr char kUseAgentStore[] =
    "TORCHELASTIC_USE_AGENT_STORE";  // "True": the agent hosts the store
inline constexpr char kErrorFile[] = "TORCHELASTIC_ERROR_FILE";
inline constexpr char kNcclAsyncErrorHandling[] = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
// Which interface NCCL and gloo listen on. "=eth0" is NCCL's way to say no other that begins so.
inline constexpr char kNcclSocketIfname[] = "NCCL_SOCKET_IFNAME";
inline constexpr char kGlooSocketIfname[] = "GLOO_SOCKET_IFNAME";
inline constexpr char kOmpNumThreads[] = "OMP_NUM_THREADS";
inline constexpr char kSignalsToHandle[] = "TORCHELASTIC_SIGNALS_TO_HANDLE";
inline constexpr char kCudaVisibleDevices[] = "CUDA_VISIBLE_DEVICES";

// Cores that one rank really has, so that libmuster_worker may use them although OMP_NUM_THREADS=1
// was set by the launcher. Absent where the user set OMP_NUM_THREADS: then that is the answer.
inline constexpr char kMusterCpus[] = "MUSTER_CPUS";
// The round's number; a worker's log lines and checkpoints name it.
inline constexpr char kMusterRound[] = "MUSTER_ROUND";

// A worker that ends only because another rank is gone exits with this; the launcher looks for the
// cause elsewhere.
inline constexpr int kExitPeerLost = 89;
// A worker that was asked to stop, saved, and has work left. Not 0: the training is not done.
inline constexpr int kExitPreemptedSaved = 85;
// The same without a checkpoint.
inline constexpr int kExitPreemptedUnsaved = 86;

}  // namespace muster::env
