// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/torchrun_exchange.hpp"

#include "launcher/agent/torchrun_task.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/torchrun/round_state.hpp"

namespace muster::launch {
namespace {

// torchrun gives one update of the state so long.
constexpr Duration kCallPatience = std::chrono::seconds{5};
constexpr Duration kEndPatience = std::chrono::seconds{2};
constexpr Duration kBarrierSlice = std::chrono::seconds{60};
constexpr Duration kBarrierPause = std::chrono::milliseconds{500};

}  // namespace

class TorchrunExchange::Body {
 public:
  using Ptr = std::shared_ptr<Body>;

  Body(net::asio::io_context& io, net::Place place, std::string run_id, Callbacks callbacks)
      : io_(io),
        place_(std::move(place)),
        run_id_(std::move(run_id)),
        callbacks_(std::move(callbacks)) {}

  static StoreJob exchange(Ptr self, std::string expected, std::string desired);
  static StoreJob tell_end(Ptr self, std::string text);
  static StoreJob hear_end(Ptr self, std::function<void(std::optional<torchrun::EndNote>)> then);
  static StoreJob count(Ptr self, std::int64_t round);
  static StoreJob wait_at_barrier(Ptr self, std::int64_t round, std::size_t agents);
  void leave_barrier();
  void stop();

  net::asio::io_context& io() { return io_; }

 private:
  static StoreTask<std::string> compare_set(Ptr self, std::string expected, std::string desired);
  static StoreTask<bool> try_barrier(Ptr self, std::int64_t round, std::size_t agents);

  net::asio::io_context& io_;
  net::Place place_;
  std::string run_id_;
  Callbacks callbacks_;
  StoreLine state_line_, barrier_line_;
  std::optional<std::int64_t> barrier_;     // that we stand at
  std::optional<std::int64_t> counted_in_;  // we are in its count
  bool stopped_ = false;
};

void TorchrunExchange::Body::stop() {
  stopped_ = true;
  callbacks_ = {};
  leave_barrier();
  if (auto const line = std::exchange(state_line_, nullptr)) line->close();
}

void TorchrunExchange::Body::leave_barrier() {
  barrier_.reset();
  if (auto const line = std::exchange(barrier_line_, nullptr)) line->close();
}

// The state.

StoreTask<std::string> TorchrunExchange::Body::compare_set(Ptr self, std::string expected,
                                                           std::string desired) {
  auto const deadline = deadline_in(kCallPatience);
  auto line = co_await open_line(self->io_, self->state_line_, self->place_, deadline);
  if (!line) co_return line.error();
  if (!self->stopped_) self->state_line_ = *line;
  auto const key = torchrun::state_key(self->run_id_);
  auto value =
      co_await (*line)->compare_set(key, std::move(expected), std::move(desired), deadline);
  if (!value) self->state_line_.reset();
  co_return value;
}

StoreJob TorchrunExchange::Body::exchange(Ptr self, std::string expected, std::string desired) {
  auto value = co_await compare_set(self, std::move(expected), std::move(desired));
  if (self->stopped_) co_return;
  // Copies are called: inside the call the owner may let go of us.
  auto const callbacks = self->callbacks_;
  if (value)
    callbacks.on_state(*std::move(value), self->state_line_->local_address());
  else
    callbacks.on_failed(value.error());
}

// The end.

// Requests on one line are carried out in their order.
StoreJob TorchrunExchange::Body::tell_end(Ptr self, std::string text) {
  auto const line = self->state_line_;
  auto key = torchrun::end_note_key(self->run_id_);
  auto const deadline = deadline_in(kCallPatience);
  if (!line) co_return;
  auto const told = co_await line->set(std::move(key), std::move(text), deadline);
  if (!told) log::info("how the job ended was not told: " + to_string(told.error()));
}

StoreJob TorchrunExchange::Body::hear_end(
    Ptr self, std::function<void(std::optional<torchrun::EndNote>)> then) {
  auto const line = self->state_line_;
  std::vector<std::string> const keys(1, torchrun::end_note_key(self->run_id_));
  auto const deadline = deadline_in(kEndPatience);
  std::optional<torchrun::EndNote> note;
  if (line) {
    auto const there = co_await line->check(keys, deadline);
    if (there && *there) {
      auto const text = co_await line->get(keys[0], deadline);
      if (text) note = torchrun::read_end_note(*text);
    }
  }
  if (!self->stopped_) then(std::move(note));
}

// The exit barrier.

StoreJob TorchrunExchange::Body::count(Ptr self, std::int64_t round) {
  auto const deadline = deadline_in(kCallPatience);
  auto const keys = torchrun::RoundKeys(self->run_id_, round);
  auto const line = self->state_line_;
  if (!line) co_return;
  auto const agents = co_await line->add(keys.num_members, 0, deadline);
  auto const tell = self->callbacks_.on_counted;
  if (agents && !self->stopped_) tell(round, *agents);
}

// Whether it is passed. Who is counted is counted once, whatever happens to the connection.
StoreTask<bool> TorchrunExchange::Body::try_barrier(Ptr self, std::int64_t round,
                                                    std::size_t agents) {
  auto const calling = deadline_in(kCallPatience);
  auto const keys = torchrun::RoundKeys(self->run_id_, round);
  auto line = co_await open_line(self->io_, self->barrier_line_, self->place_, calling);
  if (!line) co_return line.error();
  if (self->barrier_ != round) co_return false;
  self->barrier_line_ = *line;
  if (self->counted_in_ != round) {
    auto const there = co_await (*line)->add(keys.num_members, 1, calling);
    if (!there) co_return there.error();
    self->counted_in_ = round;
    if (*there >= static_cast<std::int64_t>(agents)) {
      // torchrun's own text; nobody reads it.
      std::string const text = "<val_ignored>";
      auto const told = co_await (*line)->set(keys.last_member, text, calling);
      if (!told) co_return told.error();
      co_return true;
    }
  }
  std::vector<std::string> const last(1, keys.last_member);
  auto const waiting = deadline_in(kBarrierSlice);
  auto const passed = co_await (*line)->wait(last, waiting);
  if (!passed) co_return passed.error();
  co_return true;
}

StoreJob TorchrunExchange::Body::wait_at_barrier(Ptr self, std::int64_t round, std::size_t agents) {
  self->barrier_ = round;
  net::asio::steady_timer pause(self->io_);
  while (self->barrier_ == round) {
    auto const passed = co_await try_barrier(self, round, agents);
    if (self->stopped_ || self->barrier_ != round) co_return;
    if (passed && *passed) {
      auto const tell = self->callbacks_.on_barrier_passed;
      self->leave_barrier();
      tell(round);
      co_return;
    }
    if (!passed && passed.error().code != Errc::timeout) self->barrier_line_.reset();
    pause.expires_after(kBarrierPause);
    co_await pause.async_wait(net::kAwait);
  }
}

TorchrunExchange::TorchrunExchange(net::asio::io_context& io, net::Place place, std::string run_id,
                                   Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(place), std::move(run_id), std::move(callbacks))) {
}

TorchrunExchange::~TorchrunExchange() {
  body_->stop();
}

// Makes the value, where there is none: that is torchrun's way to read it.
void TorchrunExchange::read() {
  start_job(body_->io(), Body::exchange(body_, "", std::string(torchrun::kNoState)));
}

void TorchrunExchange::replace(std::string expected, std::string desired) {
  start_job(body_->io(), Body::exchange(body_, std::move(expected), std::move(desired)));
}

void TorchrunExchange::tell_end(torchrun::EndNote const& note) {
  start_job(body_->io(), Body::tell_end(body_, torchrun::write_end_note(note)));
}

void TorchrunExchange::hear_end(std::function<void(std::optional<torchrun::EndNote>)> then) {
  start_job(body_->io(), Body::hear_end(body_, std::move(then)));
}

void TorchrunExchange::count(std::int64_t round) {
  start_job(body_->io(), Body::count(body_, round));
}

void TorchrunExchange::enter_barrier(std::int64_t round, std::size_t agents) {
  body_->leave_barrier();
  start_job(body_->io(), Body::wait_at_barrier(body_, round, agents));
}

void TorchrunExchange::leave_barrier() {
  body_->leave_barrier();
}

}  // namespace muster::launch
