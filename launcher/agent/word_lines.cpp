// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/word_lines.hpp"

#include "launcher/process/kept_words.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;
using net::ControlConnection;
using net::tcp;

constexpr Duration kTryAgain = std::chrono::seconds{1};
constexpr Duration kCallPatience = std::chrono::seconds{3};  // a lost SYN is sent again once

// A job may have a name that is longer than the guardian's slot. Length, tag and TLS take their
// part of it.
bool fits(control::Letter const& word) {
  constexpr std::size_t kAroundBody = 64;
  return control::encode(word).size() + kAroundBody <= kLastWordBytes;
}

}  // namespace

class WordLines::Body {
 public:
  Body(asio::io_context& io, LastWord& last_word, net::ControlSide side)
      : io_(io), timer_(io), last_word_(last_word), side_(std::move(side)) {
    side_.role = control::Role::caller;
  }

  using Ptr = std::shared_ptr<Body>;
  static void set(Ptr const& self, LastWords words);
  static void hung_up(Ptr const& self, std::size_t index);
  void close();

 private:
  enum class Phase { waiting, calling, standing };
  struct Line {
    explicit Line(asio::io_context& io) : socket(io) {}
    std::optional<LastWords::Place> place;  // unset: free
    Phase phase = Phase::waiting;
    unsigned call = 0;  // which call a handler belongs to
    TimePoint since{};
    tcp::socket socket;
    ControlConnection::Ptr connection;
  };

  static void call(Ptr const& self, std::size_t index);
  static void connected(Ptr const& self, std::size_t index);
  static void hand_over(Ptr const& self, std::size_t index);
  static void tick_later(Ptr const& self);
  static void tick(Ptr const& self);
  void hang_up(Line& line);

  asio::io_context& io_;
  asio::steady_timer timer_;
  LastWord& last_word_;
  net::ControlSide side_;
  LastWords words_;
  std::array<std::unique_ptr<Line>, kLastWordSlots> lines_;
  bool timer_runs_ = false, closed_ = false;
};

void WordLines::Body::set(Ptr const& self, LastWords words) {
  if (!fits(words.word)) words.places.clear();
  if (self->words_ == words) return;
  self->words_ = std::move(words);
  auto rest = self->words_.places;
  rest.resize(std::min(rest.size(), kLastWordSlots));
  for (std::size_t i = 0; i < kLastWordSlots; ++i) {
    auto const& line = self->lines_[i];
    if (!line || !line->place) continue;
    auto const found = std::find(rest.begin(), rest.end(), *line->place);
    if (found != rest.end()) {
      rest.erase(found);
      call(self, i);
      continue;
    }
    self->hang_up(*line);
    line->place.reset();
    self->last_word_.drop(i);
  }
  for (std::size_t i = 0; i < kLastWordSlots && !rest.empty(); ++i) {
    auto& line = self->lines_[i];
    if (!line) line = std::make_unique<Line>(self->io_);
    if (line->place) continue;
    line->place = std::move(rest.back());
    rest.pop_back();
    call(self, i);
  }
}

void WordLines::Body::hang_up(Line& line) {
  ++line.call;
  net::error_code ignored;
  line.socket.close(ignored);
  if (auto const connection = std::exchange(line.connection, nullptr)) connection->close();
}

void WordLines::Body::close() {
  closed_ = true;
  timer_.cancel();
  for (auto& line : lines_)
    if (line) hang_up(*line);
}

void WordLines::Body::call(Ptr const& self, std::size_t index) {
  auto& line = *self->lines_[index];
  self->hang_up(line);
  line.phase = Phase::waiting;
  line.since = now();
  tick_later(self);
  net::error_code failure;
  auto const address = asio::ip::make_address(line.place->address, failure);
  if (failure) return;  // no numeric address: nothing that could be called
  line.phase = Phase::calling;
  line.socket.async_connect({address, line.place->port}, [self, index, turn = line.call](auto ec) {
    auto& called = *self->lines_[index];
    if (self->closed_ || called.call != turn) return;
    if (!ec) return connected(self, index);
    called.phase = Phase::waiting;
  });
}

void WordLines::Body::connected(Ptr const& self, std::size_t index) {
  auto& line = *self->lines_[index];
  net::close_on_exec(line.socket.native_handle());
  net::error_code ignored;
  line.socket.set_option(asio::socket_base::keep_alive(true), ignored);
  self->side_.epoch = self->words_.word.header.epoch;
  line.connection = std::make_shared<ControlConnection>(std::move(line.socket), self->side_);
  line.socket = tcp::socket(self->io_);
  ControlConnection::Callbacks callbacks;
  callbacks.on_letter = [](control::Letter const&) {};
  callbacks.on_greeted = [self, index] {
    auto const& greeted = self->lines_[index]->connection;
    ControlConnection::send(greeted, self->words_.opening);
    ControlConnection::when_sent(greeted, [self, index] { hand_over(self, index); });
  };
  callbacks.on_end = [self, index](Error const& error) {
    log::debug("no line for the last word: " + to_string(error));
    self->lines_[index]->connection.reset();
    self->lines_[index]->phase = Phase::waiting;
    tick_later(self);
  };
  ControlConnection::start(line.connection, {}, std::move(callbacks));
}

void WordLines::Body::hand_over(Ptr const& self, std::size_t index) {
  auto& line = *self->lines_[index];
  auto parting =
      ControlConnection::part(std::exchange(line.connection, nullptr), self->words_.word);
  line.phase = parting ? Phase::standing : Phase::waiting;
  if (!parting) return tick_later(self);
  self->last_word_.keep(index, std::move(parting->socket), std::move(parting->bytes));
}

void WordLines::Body::hung_up(Ptr const& self, std::size_t index) {
  auto& line = *self->lines_[index];
  if (self->closed_ || line.phase != Phase::standing) return;  // the next one is on its way
  if (now() - line.since >= kTryAgain) return call(self, index);
  line.phase = Phase::waiting;
  tick_later(self);
}

void WordLines::Body::tick_later(Ptr const& self) {
  if (std::exchange(self->timer_runs_, true)) return;
  self->timer_.expires_after(kTryAgain);
  self->timer_.async_wait([self](net::error_code const& ec) {
    self->timer_runs_ = false;
    if (!ec && !self->closed_) tick(self);
  });
}

void WordLines::Body::tick(Ptr const& self) {
  auto const at = now();
  for (std::size_t i = 0; i < kLastWordSlots; ++i) {
    auto const& line = self->lines_[i];
    if (!line || !line->place) continue;
    bool const late = line->phase == Phase::calling && at - line->since >= kCallPatience;
    if (line->phase == Phase::waiting || late)
      call(self, i);
    else if (line->phase == Phase::calling)
      tick_later(self);
  }
}

WordLines::WordLines(asio::io_context& io, LastWord& last_word, net::ControlSide side)
    : body_(std::make_shared<Body>(io, last_word, std::move(side))) {
  last_word.on_hung_up([body = body_](std::size_t slot) { Body::hung_up(body, slot); });
}

WordLines::~WordLines() {
  body_->close();
}

void WordLines::set(LastWords words) {
  Body::set(body_, std::move(words));
}

}  // namespace muster::launch
