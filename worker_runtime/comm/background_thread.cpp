// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/background_thread.hpp"

#include <csignal>
#include <pthread.h>

namespace muster::worker {

void become_progress_thread() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::pthread_setname_np(::pthread_self(), "muster-comm");
}

}  // namespace muster::worker
