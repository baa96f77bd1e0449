// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store server on a thread of its own, for a program without an event loop (rank 0 of tcp://,
// tests).

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace muster::net {

class HostedStore {
 public:
  // host: a name or numeric address to bind, "" for all; port 0: the system chooses.
  static Result<HostedStore> start(std::string host, std::uint16_t port);

  HostedStore(HostedStore&&) noexcept;
  HostedStore& operator=(HostedStore&&) noexcept;
  ~HostedStore();  // closes at once

  std::uint16_t port() const;

 private:
  struct Body;
  explicit HostedStore(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace muster::net
