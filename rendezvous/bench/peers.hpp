// SPDX-License-Identifier: Apache-2.0
#pragma once
// The servers that store_bench compares, each a child process on a port of loopback: musterd,
// PyTorch's TCPStore (libuv) and redis-server. One that is not installed is said so and left out.

#include "rendezvous/base/result.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace muster::bench {

enum class Dialect { tcpstore, resp };

class Peer {
 public:
  // Starts `argv` and waits until it prints a line; the port is the number at its end.
  static Result<Peer> start_printing(std::string name, std::vector<std::string> const& argv);
  // Starts redis-server on a port that was free a moment ago.
  static Result<Peer> start_redis();

  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&&) = delete;
  ~Peer();  // kills and reaps

  std::string const& name() const { return name_; }
  Dialect dialect() const { return dialect_; }
  std::uint16_t port() const { return port_; }
  // `count` connections that have been served once. They are made once and lent again: accepting
  // may take TCPStore seconds, since it looks up each peer's name in the DNS. Whoever borrows them
  // reads every reply before it returns.
  Result<std::vector<int>> connections(std::size_t count) const;
  // CPU time of all its threads so far.
  double cpu_seconds() const;
  // VmRSS of the process.
  std::size_t resident_bytes() const;

 private:
  Peer(std::string name, Dialect dialect, pid_t pid, std::uint16_t port)
      : name_(std::move(name)), dialect_(dialect), pid_(pid), port_(port) {}

  std::string name_;
  Dialect dialect_;
  pid_t pid_;
  std::uint16_t port_;
  mutable std::vector<UniqueFd> pool_;
};

Result<Peer> start_musterd(std::string const& program);
// `python`: an interpreter that has torch.
Result<Peer> start_tcpstore(std::string const& python);

}  // namespace muster::bench
