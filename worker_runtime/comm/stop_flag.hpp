// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether this process got SIGTERM since run_main() installed its handler. A signal belongs to the
// process, not to a session, so this is the one process-wide value of the library. Any thread; the
// handler only sets it.

namespace muster::worker {

bool process_was_asked_to_stop() noexcept;
void install_stop_handler();

}  // namespace muster::worker
