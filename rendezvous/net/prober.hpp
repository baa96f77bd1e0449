// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dials addresses to see whether they can be reached, says nothing to whoever answers, but for a
// store, which has to answer, and reports those that could not. Control thread only.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/membership/probe.hpp"
#include "rendezvous/net/asio.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace muster::net {

// A lost SYN is sent again after one second. Two such tries in a row are over in less than 5 s.
inline constexpr Duration kProbePatience = std::chrono::seconds{2};

class Prober {
 public:
  using Report = std::function<void(std::vector<membership::ProbeFailure>)>;

  explicit Prober(asio::io_context& io);
  ~Prober();  // nothing is reported any more
  Prober(Prober const&) = delete;
  Prober& operator=(Prober const&) = delete;

  // Once all targets have answered or failed, at the latest after `patience`, `report` is called,
  // never from inside this call, with the failures in the order of the targets. A run that is still
  // under way is dropped.
  void start(std::vector<membership::ProbeTarget> targets, Duration patience, Report report);

 private:
  class Run;
  asio::io_context& io_;
  std::shared_ptr<Run> run_;
};

}  // namespace muster::net
