// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/peer_lines.hpp"

#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace muster::net {
namespace {

constexpr Duration kKeptAfterUse = std::chrono::seconds{5};
constexpr Duration kLookAround = std::chrono::seconds{1};
// Behind a peer that does not answer: what is older was said again since.
constexpr std::size_t kMostQueued = 16;

struct Line {
  Place place;
  std::unique_ptr<Dialer> dialer;
  ControlConnection::Ptr connection;
  std::deque<control::Letter> queued;
  TimePoint used{};
  bool wrong = false;  // no peer of ours listens there
};

}  // namespace

class PeerLines::Body {
 public:
  Body(asio::io_context& io, ControlSide self, OnLetter given)
      : on_letter(std::move(given)), io_(io), timer_(io), self_(std::move(self)) {}

  using Ptr = std::shared_ptr<Body>;
  using LinePtr = std::shared_ptr<Line>;
  static void send(Ptr const& self, Place const& place, control::Letter letter);
  void close();

  OnLetter on_letter;
  std::vector<LinePtr> lines;

 private:
  static LinePtr open(Ptr const& self, Place const& place);
  static void look_around(Ptr const& self);

  asio::io_context& io_;
  asio::steady_timer timer_;
  ControlSide self_;
  bool timer_runs_ = false;
};

void PeerLines::Body::send(Ptr const& self, Place const& place, control::Letter letter) {
  auto const found = std::find_if(self->lines.begin(), self->lines.end(),
                                  [&](LinePtr const& each) { return each->place == place; });
  auto const line = found == self->lines.end() ? open(self, place) : *found;
  line->used = now();
  if (line->connection) return ControlConnection::send(line->connection, letter);
  line->queued.push_back(std::move(letter));
  if (line->queued.size() > kMostQueued) line->queued.pop_front();
}

PeerLines::Body::LinePtr PeerLines::Body::open(Ptr const& self, Place const& place) {
  auto const line = std::make_shared<Line>();
  line->place = place;
  auto const weak = std::weak_ptr<Line>(line);
  Dialer::Callbacks callbacks;
  callbacks.on_connected = [weak](ControlConnection::Ptr const& connection) {
    auto const opened = weak.lock();
    if (!opened) return;
    opened->connection = connection;
    for (auto const& letter : std::exchange(opened->queued, {}))
      ControlConnection::send(connection, letter);
  };
  callbacks.on_letter = [owner = std::weak_ptr<Body>(self)](control::Letter letter) {
    if (auto const body = owner.lock(); body && body->on_letter) body->on_letter(std::move(letter));
  };
  callbacks.on_disconnected = [weak] {
    if (auto const broken = weak.lock()) broken->connection.reset();
  };
  callbacks.on_refused = [weak](Error const&) {
    auto const refused = weak.lock();
    if (!refused) return;
    refused->wrong = true;
    refused->dialer->stop();
  };
  line->dialer = std::make_unique<Dialer>(self->io_, std::vector<Place>{place}, self->self_,
                                          std::move(callbacks));
  line->dialer->start();
  self->lines.push_back(line);
  look_around(self);
  return line;
}

// Lines that nobody used for a while are hung up.
void PeerLines::Body::look_around(Ptr const& self) {
  if (std::exchange(self->timer_runs_, true)) return;
  self->timer_.expires_after(kLookAround);
  self->timer_.async_wait([self](error_code const& ec) {
    self->timer_runs_ = false;
    if (ec) return;
    auto const limit = now() - kKeptAfterUse;
    std::erase_if(self->lines,
                  [limit](LinePtr const& line) { return line->wrong || line->used < limit; });
    if (!self->lines.empty()) look_around(self);
  });
}

void PeerLines::Body::close() {
  on_letter = nullptr;
  timer_.cancel();
  lines.clear();
}

PeerLines::PeerLines(asio::io_context& io, ControlSide self, OnLetter on_letter)
    : body_(std::make_shared<Body>(io, std::move(self), std::move(on_letter))) {}

PeerLines::~PeerLines() {
  body_->close();
}

void PeerLines::send(Place const& place, control::Letter letter) {
  Body::send(body_, place, std::move(letter));
}

void PeerLines::clear() {
  body_->lines.clear();
}

std::size_t PeerLines::open_lines() const {
  return body_->lines.size();
}

}  // namespace muster::net
