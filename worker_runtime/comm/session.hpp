// SPDX-License-Identifier: Apache-2.0
#pragma once
// One rank's membership in a world: reads its place from the environment, meets the others, gives
// the world's group. No process globals: N sessions may live in one process (backend `threads`).
// A session is its rank's: one thread calls it, but for request_stop(), which any thread may.

#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::worker {

struct Placement;

struct SessionOptions {
  // Or "tcp://host:port?rank=R&world_size=N": rank 0 serves the store itself, or takes the one that
  // is on that port.
  std::string url = "env://";
  std::string backend = "cpu";  // alias "gloo"
  Duration timeout = std::chrono::minutes{
      30};  // gloo's default: connect, and each collective without its own deadline
};

class Session {
 public:
  // Blocks until all ranks have met, at most for the timeout. Errors: bad_input (a variable or the
  // URL), unsupported (the backend), address_in_use, timeout (names the missing ranks), mismatch
  // (two processes of one rank, other world sizes), peer_lost.
  static Result<Session> open(EnvView const& environment, SessionOptions options = {});
  // `size` ranks in this process over the backend `threads`, by rank: tests, and data parallelism
  // by threads.
  static std::vector<Session> threads(int size, SessionOptions options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  ProcessGroup& world();  // lives as long as the session, wherever that is moved
  int rank() const;
  int size() const;
  int local_rank() const;
  int restart_count() const;    // TORCHELASTIC_RESTART_COUNT, 0 without a launcher
  std::uint64_t round() const;  // MUSTER_ROUND, 0 under other launchers: checkpoints note it
  // Cores this rank may use: MUSTER_CPUS, else OMP_NUM_THREADS, else its share of the affinity
  // mask.
  int cpus() const;

  // True on all ranks at the same step once any of them got SIGTERM. Collective: call at step
  // boundaries.
  Result<bool> stop_requested();
  // Marks this rank as asked to stop, as SIGTERM does (run_main installs the handler).
  void request_stop() noexcept;

 private:
  struct Body;
  explicit Session(std::unique_ptr<Body> body);
  static Result<void> meet(Body& body, Placement const& placement, Duration timeout);
  std::unique_ptr<Body> body_;
};

// Runs a program's body: installs SIGTERM, writes TORCHELASTIC_ERROR_FILE on an error, prints one
// line, and turns peer_lost into the exit code 89 (a consequence, not the cause). Returns the
// process's exit code.
int run_main(std::function<Result<void>()> body);

}  // namespace muster::worker
