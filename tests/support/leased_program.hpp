// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program whose loading blocks until the test lets it go, as on a file server that does not
// answer: the file is leased, and whoever opens it waits for the lease to be given back.

#include "rendezvous/base/unique_fd.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace muster::test {

class LeasedProgram {
 public:
  // A copy of the shell.
  LeasedProgram() {
    std::ofstream(path(), std::ios::binary) << std::ifstream("/bin/sh", std::ios::binary).rdbuf();
    REQUIRE(::chmod(path().c_str(), 0755) == 0);
    ::signal(SIGIO, SIG_IGN);  // "somebody wants it"
    file_.reset(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::fcntl(file_.get(), F_SETLEASE, F_WRLCK) == 0);
  }

  std::string path() const { return folder_.path() + "/slow_sh"; }
  void release() { REQUIRE(::fcntl(file_.get(), F_SETLEASE, F_UNLCK) == 0); }

 private:
  TempFolder folder_;
  UniqueFd file_;
};

}  // namespace muster::test
