// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that decides how one worker process starts. A value; the descriptors are borrowed.

#include <string>
#include <vector>

namespace muster::launch {

struct Command {
  std::string path;  // what is executed: absolute or relative to the working folder, no PATH search
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  int in = 0, out = 1, err = 2;          // each its own number (inherited) or above 2
  int cgroup = -1;                       // the folder of a cgroup v2 leaf to be born in, or -1
  std::vector<int> cpus;                 // processors it may use; empty: as muster itself
};

}  // namespace muster::launch
