// SPDX-License-Identifier: Apache-2.0
#pragma once
// A TCP connection with a deadline on every call, for code without an event loop. One thread at a
// time.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::net {

class PosixStream {
 public:
  // Retries refused, reset and unresolved connections until the deadline: the server may start
  // later. Name resolution itself blocks for as long as the system's resolver does.
  static Result<PosixStream> connect(std::string const& host, std::uint16_t port,
                                     Deadline deadline);

  Result<void> write_all(std::string_view bytes, Deadline deadline);
  // Waits for more bytes and appends them to `input`; Errc::timeout leaves it unchanged.
  Result<void> read_some(std::string& input, Deadline deadline);
  void close() { socket_.reset(); }
  // The peer reads an end; we still read.
  void shut_down_sending();
  bool is_open() const { return bool(socket_); }

  // Numeric address of our end.
  std::string local_address() const;
  // "host:port" as it was asked for.
  std::string const& peer() const { return peer_; }

 private:
  PosixStream(UniqueFd socket, std::string peer)
      : socket_(std::move(socket)), peer_(std::move(peer)) {}
  Result<void> wait_for(short events, Deadline deadline, std::string_view doing);

  UniqueFd socket_;
  std::string peer_;
};

// Blocks this thread; a signal may end it early.
void sleep_for(Duration length);

}  // namespace muster::net
