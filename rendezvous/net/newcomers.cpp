// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/newcomers.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/address_list.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace muster::net {
namespace {

using control::Fault;

// What letters that are not whole may hold together: first ones, and all others. Those of an honest
// node are below 64 KiB, but for a report of failure.
constexpr std::size_t kMaxHeldByNewcomers = 64u << 20, kMaxHeldByOthers = 256u << 20;
// TLS handshakes that have begun.
constexpr std::size_t kMaxHandshakes = 1'024;

bool is_loopback(std::string const& numeric) {
  error_code ec;
  auto const address = asio::ip::make_address(numeric, ec);
  return !ec && address.is_loopback();
}

}  // namespace

class Newcomers::Body {
 public:
  using Ptr = std::shared_ptr<Body>;

  Body(asio::io_context& io, Bounds const& bounds) : io_(io), watch_(io), lobby_(bounds.lobby) {}

  static void enter(Ptr const& self, ControlConnection::Ptr const& connection);
  void stop() {
    watch_.cancel();
    entries_.clear();
    steps_.clear();
  }
  void ended(ControlConnection const& connection, Error const& error);

  ControlCounters counters;

 private:
  struct Entry {
    std::weak_ptr<ControlConnection> connection;
    std::size_t bytes = 0;
    bool in_tls = false;  // a handshake has begun, which holds 40 KiB
    bool is_due = false;  // it waits for us, not we for it
    bool is_settled = false;
  };
  struct Step {
    Lobby::Key key;
    std::function<void()> carry_out;
  };

  // Its destructor is the connection's leaving.
  class Place final : public ControlPlace {
   public:
    Place(Ptr const& owner, Lobby::Key key) : owner_(owner), key_(key) {}
    ~Place() override {
      if (auto const owner = owner_.lock()) owner->leave(key_);
    }
    void settle() override {
      if (auto const owner = owner_.lock()) owner->settle(key_);
    }
    void holds(std::size_t bytes) override {
      if (bytes == held_) return;  // nearly always: letters come whole
      held_ = bytes;
      if (auto const owner = owner_.lock()) owner->holds(key_, bytes);
    }
    void when_due(std::function<void()> step) override {
      if (auto const owner = owner_.lock()) return queue(owner, {key_, std::move(step)});
      step();
    }

   private:
    std::weak_ptr<Body> owner_;
    Lobby::Key key_;
    std::size_t held_ = 0;
  };

  void leave(Lobby::Key key);
  void settle(Lobby::Key key);
  std::size_t& held_with(Entry const& entry) { return held_[entry.is_settled ? 1 : 0]; }
  void holds(Lobby::Key key, std::size_t bytes);
  void expel(Lobby::Key key, Fault fault, std::string why);
  void make_room(Lobby::Key longest, Lobby::Key latest);
  static void watch(Ptr const& self);
  void close_late_ones();
  static void queue(Ptr const& self, Step step);
  static void take_step(Ptr const& self);
  void begin_step(Lobby::Key key);

  asio::io_context& io_;
  asio::steady_timer watch_;
  TimePoint watched_ = TimePoint::max();
  Lobby lobby_;
  std::map<Lobby::Key, Entry> entries_;
  Lobby::Key last_key_ = 0;
  std::array<std::size_t, 2> held_{};  // by newcomers, by others
  std::size_t handshakes_ = 0;
  std::deque<Step> steps_;  // one in each turn of the loop
  Complaints complaints_;
};

void Newcomers::Body::enter(Ptr const& self, ControlConnection::Ptr const& connection) {
  auto const key = ++self->last_key_;
  auto const& address = connection->peer_address();
  ++self->counters.accepted;
  self->entries_.emplace(key, Entry{connection, 0});
  ++self->counters.newcomers;
  connection->set_place(std::make_shared<Place>(self, key));
  auto const longest = self->lobby_.enter(key, is_loopback(address) ? "" : address, now());
  if (longest) self->make_room(*longest, key);
  watch(self);
}

// Who waits for us is not the one to go: else nobody's turn would ever come.
void Newcomers::Body::make_room(Lobby::Key longest, Lobby::Key latest) {
  auto const found = entries_.find(longest);
  auto const is_due = found != entries_.end() && found->second.is_due;
  expel(is_due ? latest : longest, Fault::crowded,
        "too many connections that have not said for whom they are");
}

// Behind each step everything else that is ready has its turn.
void Newcomers::Body::queue(Ptr const& self, Step step) {
  if (auto const found = self->entries_.find(step.key); found != self->entries_.end())
    found->second.is_due = true;
  self->steps_.push_back(std::move(step));
  if (self->steps_.size() == 1) asio::post(self->io_, [self] { take_step(self); });
}

void Newcomers::Body::take_step(Ptr const& self) {
  if (self->steps_.empty()) return;
  auto const step = std::move(self->steps_.front());
  self->begin_step(step.key);
  step.carry_out();
  if (self->steps_.empty()) return;  // stopped meanwhile
  self->steps_.pop_front();
  if (!self->steps_.empty()) asio::post(self->io_, [self] { take_step(self); });
}

void Newcomers::Body::begin_step(Lobby::Key key) {
  auto const found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.is_due = false;
  if (std::exchange(found->second.in_tls, true) || ++handshakes_ <= kMaxHandshakes) return;
  auto const silent = std::find_if(entries_.begin(), entries_.end(), [](auto const& each) {
    return each.second.in_tls && !each.second.is_due;
  });
  expel(silent->first, Fault::crowded, "too many TLS handshakes that are not over");
}

void Newcomers::Body::leave(Lobby::Key key) {
  settle(key);
  auto const found = entries_.find(key);
  if (found == entries_.end()) return;
  held_with(found->second) -= found->second.bytes;
  entries_.erase(found);
}

void Newcomers::Body::settle(Lobby::Key key) {
  lobby_.leave(key);
  auto const found = entries_.find(key);
  if (found == entries_.end() || found->second.is_settled) return;
  auto& entry = found->second;
  held_with(entry) -= entry.bytes;
  entry.is_settled = true;
  held_with(entry) += entry.bytes;
  if (std::exchange(entry.in_tls, false)) --handshakes_;
  --counters.newcomers;
}

void Newcomers::Body::holds(Lobby::Key key, std::size_t bytes) {
  auto const found = entries_.find(key);
  if (found == entries_.end()) return;
  auto const settled = found->second.is_settled;
  auto& held = held_with(found->second);
  held += bytes - found->second.bytes;
  found->second.bytes = bytes;
  if (held <= (settled ? kMaxHeldByOthers : kMaxHeldByNewcomers)) return;
  auto const weight = [settled](auto const& each) {
    return each.second.is_settled == settled ? each.second.bytes : 0;
  };
  auto const most =
      std::max_element(entries_.begin(), entries_.end(),
                       [weight](auto const& a, auto const& b) { return weight(a) < weight(b); });
  expel(most->first, Fault::crowded, "messages that are not whole hold too much memory");
}

// It leaves at once, and is closed in a moment.
void Newcomers::Body::expel(Lobby::Key key, Fault fault, std::string why) {
  auto const found = entries_.find(key);
  auto const connection = found == entries_.end() ? nullptr : found->second.connection.lock();
  leave(key);
  if (connection) ControlConnection::give_up(connection, {Errc::limit, std::move(why), ""}, fault);
}

void Newcomers::Body::watch(Ptr const& self) {
  auto const next = self->lobby_.next_due();
  if (!next || *next >= self->watched_) return;
  self->watched_ = *next;
  self->watch_.expires_after(Deadline{*next}.left(now()));
  self->watch_.async_wait([weak = std::weak_ptr<Body>(self)](error_code const& ec) {
    auto const body = weak.lock();
    if (ec || !body) return;
    // What has come in time counts, also if this process was not running: it is read before.
    asio::post(body->io_, [weak] {
      if (auto const late = weak.lock()) {
        late->close_late_ones();
        watch(late);
      }
    });
  });
}

void Newcomers::Body::close_late_ones() {
  watched_ = TimePoint::max();
  for (auto const key : lobby_.overdue(now()))
    expel(key, Fault::late, "it did not say in time for whom it speaks");
}

void Newcomers::Body::ended(ControlConnection const& connection, Error const& error) {
  auto const fault = connection.fault();
  ++counters.ended[static_cast<std::size_t>(fault)];
  auto const text =
      "control connection from " + connection.peer_address() + ": " + to_string(error);
  if (fault == Fault::none) return log::info(text);
  auto const kind = static_cast<unsigned>(fault);
  if (!complaints_.shows(kind, connection.peer_address(), now())) return log::debug(text);
  log::warning(text + " (further ones are only counted)");
}

Newcomers::Newcomers(asio::io_context& io, Bounds const& bounds)
    : body_(std::make_shared<Body>(io, bounds)) {}

Newcomers::~Newcomers() {
  body_->stop();
}

void Newcomers::enter(ControlConnection::Ptr const& connection) {
  Body::enter(body_, connection);
}

void Newcomers::ended(ControlConnection const& connection, Error const& error) {
  body_->ended(connection, error);
}

ControlCounters const& Newcomers::counters() const {
  return body_->counters;
}

}  // namespace muster::net
