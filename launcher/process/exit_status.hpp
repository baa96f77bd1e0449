// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a process ended. A value.

namespace muster::launch {

struct ExitStatus {
  int code = 0;    // 0..255; meaningless if signal is not 0
  int signal = 0;  // the signal that ended it, or 0

  bool success() const { return code == 0 && signal == 0; }
  // As a shell tells it: the code, or 128 + signal.
  int shell_code() const { return signal != 0 ? 128 + signal : code; }
  friend bool operator==(ExitStatus, ExitStatus) = default;
};

}  // namespace muster::launch
