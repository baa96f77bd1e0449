// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a thread of the library does first, so that it is no surprise to the program around it.

namespace muster::worker {

// Called on the thread itself: signals are for the program's own threads, and tools show a name.
void become_progress_thread();

}  // namespace muster::worker
