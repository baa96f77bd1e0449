// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host that is not where it is looked for calls there each second and says where it is: a host
// newly born there learns that the job has one, and a daemon sends newcomers on. Control thread
// only.

#include "rendezvous/net/peer_lines.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace muster::launch {

class Herald {
 public:
  // `lines` outlive the herald.
  Herald(net::asio::io_context& io, net::PeerLines& lines) : lines_(lines), timer_(io) {}
  Herald(Herald const&) = delete;
  Herald& operator=(Herald const&) = delete;

  // From now on calls `places` with `news`, where there is any at that moment.
  void start(std::vector<net::Place> places, std::function<std::optional<control::Letter>()> news);
  void stop() { places_.clear(); }

 private:
  void tick();

  net::PeerLines& lines_;
  net::asio::steady_timer timer_;
  std::vector<net::Place> places_;
  std::function<std::optional<control::Letter>()> news_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::launch
