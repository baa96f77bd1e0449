// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/herald.hpp"

#include <utility>

namespace muster::launch {
namespace {

constexpr Duration kEvery = std::chrono::seconds{1};

}  // namespace

void Herald::start(std::vector<net::Place> places,
                   std::function<std::optional<control::Letter>()> news) {
  places_ = std::move(places);
  news_ = std::move(news);
  tick();
}

void Herald::tick() {
  if (places_.empty()) return;
  if (auto const letter = news_())
    for (auto const& place : places_) lines_.send(place, *letter);
  timer_.expires_after(kEvery);
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) tick();
  });
}

}  // namespace muster::launch
