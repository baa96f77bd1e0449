// SPDX-License-Identifier: Apache-2.0
// The wrapper that a worker program's main calls: SIGTERM, the error file, the exit code.
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/env_view.hpp"
#include "worker_runtime/comm/session.hpp"
#include "worker_runtime/comm/stop_flag.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>

namespace muster::worker {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set inside a signal handler");

void note_stop(int) {
  stop_flag.store(true, std::memory_order_relaxed);
}

// torch.distributed.elastic's ErrorHandler.record_exception: the shape that torchrun reads.
void write_error_file(std::string const& path, Error const& error) {
  nlohmann::json const content = {
      {"message",
       {{"message", std::string(name_of(error.code)) + ": " + to_string(error)},
        {"extraInfo",
         {{"py_callstack", to_string(error)},
          {"timestamp", std::to_string(static_cast<long long>(std::time(nullptr)))}}}}}};
  std::ofstream file(path, std::ios::trunc);
  file << content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush())
    std::fprintf(stderr, "muster: error file %s could not be written\n", path.c_str());
}

Result<void> run_guarded(std::function<Result<void>()> const& body) {
  try {
    return body();
  } catch (std::exception const& exception) {
    return Error{Errc::internal, std::string("uncaught exception: ") + exception.what(), {}};
  } catch (...) {
    return Error{Errc::internal, "uncaught exception of an unknown type", {}};
  }
}

}  // namespace

bool process_was_asked_to_stop() noexcept {
  return stop_flag.load(std::memory_order_relaxed);
}

void install_stop_handler() {
  struct sigaction action {};
  action.sa_handler = note_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
}

int run_main(std::function<Result<void>()> body) {
  auto const environment = EnvView::from_process();
  install_stop_handler();
  auto const result = run_guarded(body);
  if (result) return 0;
  auto const& error = result.error();
  auto const rank = environment.get(env::kRank);
  auto const who = rank ? "rank " + std::string(*rank) + ": " : std::string();
  std::fprintf(stderr, "muster: %s%s\n", who.c_str(), to_string(error).c_str());
  // A consequence writes no error file: a launcher takes the earliest one for the cause, and their
  // timestamps have whole seconds.
  if (error.code == Errc::peer_lost) return env::kExitPeerLost;
  if (auto const path = environment.get(env::kErrorFile); path && !path->empty())
    write_error_file(std::string(*path), error);
  return 1;
}

}  // namespace muster::worker
