// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/torchrun_watch.hpp"

#include "launcher/agent/torchrun_task.hpp"
#include "rendezvous/torchrun/round_keys.hpp"
#include "rendezvous/torchrun/round_state.hpp"

#include <set>

namespace muster::launch {
namespace {

constexpr Duration kLookPatience = std::chrono::seconds{2};
constexpr int kTries = 20;  // others write, too
// torchrun's agents join up to 0.3 s after they have made the state, and a store can only be waited
// for until that is there.
constexpr Duration kVisitPatience = std::chrono::seconds{3};
constexpr Duration kVisitLater = std::chrono::seconds{1};
constexpr Duration kNamesPause = std::chrono::milliseconds{100};

std::string names_of(torchrun::RoundState const& state) {
  std::set<std::string> names;
  for (auto const& [node, beat] : state.last_heartbeats)
    names.insert(node.addr + (node.local_id == torchrun::kMusterId ? " (muster, peers=torchrun)"
                                                                   : " (torchrun)"));
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

class TorchrunWatch::Body {
 public:
  using Ptr = std::shared_ptr<Body>;

  Body(net::asio::io_context& io, std::string run_id, std::string own_name, net::Place place,
       Callbacks callbacks)
      : io_(io),
        later_(io),
        run_id_(std::move(run_id)),
        own_name_(std::move(own_name)),
        place_(std::move(place)),
        callbacks_(std::move(callbacks)) {}

  static void written(Ptr const& self);
  static void visit(Ptr const& self);
  static void visit_later(Ptr const& self);
  static void visit(Ptr const& self, Visited then);
  std::string key() const { return torchrun::state_key(run_id_); }
  void stop();

 private:
  // Names of who is there; empty where nobody is.
  using Names = std::string;

  static StoreJob look_at_own(Ptr self);
  static StoreJob visit_other(Ptr self);
  static StoreTask<StoreLine> open(Ptr self, Deadline deadline);
  static StoreTask<Names> close_theirs(Ptr self);
  static StoreTask<Names> wait_for_names(Ptr self);
  Error clash(Names const& names) const;

  net::asio::io_context& io_;
  net::asio::steady_timer later_;
  std::string run_id_, own_name_;
  net::Place place_;
  Callbacks callbacks_;
  Visited then_;
  std::set<StoreLine> lines_;
  Names told_;         // of those in our own store
  bool news_ = false;  // there
  bool looking_ = false, visiting_ = false, stopped_ = false;
};

void TorchrunWatch::Body::stop() {
  stopped_ = true;
  callbacks_ = {};
  then_ = nullptr;
  later_.cancel();
  auto const lines = std::exchange(lines_, {});
  for (auto const& line : lines) line->close();
}

StoreTask<StoreLine> TorchrunWatch::Body::open(Ptr self, Deadline deadline) {
  auto const none = StoreLine();
  auto line = co_await open_line(self->io_, none, self->place_, deadline);
  if (!line) co_return line.error();
  if (self->stopped_) co_return Error{Errc::canceled, "the link is over", {}};
  self->lines_.insert(*line);
  co_return line;
}

// Our own store.

void TorchrunWatch::Body::written(Ptr const& self) {
  self->news_ = true;
  if (!std::exchange(self->looking_, true)) start_job(self->io_, look_at_own(self));
}

StoreJob TorchrunWatch::Body::look_at_own(Ptr self) {
  while (!self->stopped_ && std::exchange(self->news_, false)) {
    auto const names = co_await close_theirs(self);
    if (self->stopped_ || !names || names->empty()) continue;
    if (std::exchange(self->told_, *names) == *names) continue;
    auto const tell = self->callbacks_.on_met_here;
    auto const error = self->clash(*names);
    tell(error);
  }
  self->looking_ = false;
}

StoreTask<TorchrunWatch::Body::Names> TorchrunWatch::Body::close_theirs(Ptr self) {
  auto const deadline = deadline_in(kLookPatience);
  auto const line = co_await open(self, deadline);
  if (!line) co_return line.error();
  auto const key = self->key();
  auto value = co_await (*line)->get(key, deadline);
  Names names;
  for (int i = 0; i < kTries && value; ++i) {
    auto const state = torchrun::decode_state(*value);
    if (!state || !*state) break;  // nobody's yet, or nobody that we understand
    auto closed = **state;
    names = names_of(closed);
    if (closed.closed) break;
    closed.closed = true;
    auto const desired = torchrun::encode_state(closed);
    auto const expected = *value;
    value = co_await (*line)->compare_set(key, expected, desired, deadline);
  }
  self->lines_.erase(*line);
  if (!value) co_return value.error();
  co_return names;
}

// Somebody else's store, or no store at all: that answers no question.

void TorchrunWatch::Body::visit(Ptr const& self) {
  if (self->visiting_ || self->callbacks_.is_settled()) return;
  visit(self, [self](std::optional<Error> const& clash) {
    if (!clash || self->callbacks_.is_settled()) return;
    auto const tell = self->callbacks_.on_met_there;
    tell(*clash);
  });
}

void TorchrunWatch::Body::visit_later(Ptr const& self) {
  if (self->callbacks_.is_settled()) return;
  self->later_.expires_after(kVisitLater);
  self->later_.async_wait([self](net::error_code const& ec) {
    if (!ec && !self->stopped_) visit(self);
  });
}

void TorchrunWatch::Body::visit(Ptr const& self, Visited then) {
  self->then_ = std::move(then);
  if (!std::exchange(self->visiting_, true)) start_job(self->io_, visit_other(self));
}

StoreJob TorchrunWatch::Body::visit_other(Ptr self) {
  auto const names = co_await wait_for_names(self);
  self->visiting_ = false;
  if (self->stopped_) co_return;
  std::optional<Error> found;
  if (names && !names->empty()) found = self->clash(*names);
  auto const tell = std::exchange(self->then_, nullptr);
  tell(found);
}

StoreTask<TorchrunWatch::Body::Names> TorchrunWatch::Body::wait_for_names(Ptr self) {
  auto const deadline = deadline_in(kVisitPatience);
  auto const line = co_await open(self, deadline);
  if (!line) co_return line.error();
  auto const answering = deadline_in(kLookPatience);
  std::vector<std::string> const keys(1, self->key());
  auto const answers = co_await (*line)->check(keys, answering);
  net::asio::steady_timer pause(self->io_);
  Names names;
  while (answers && !self->stopped_) {
    auto const value = co_await (*line)->get(keys[0], deadline);
    if (!value) break;
    auto const state = torchrun::decode_state(*value);
    if (!state) break;
    if (*state) names = names_of(**state);
    if (!names.empty() || deadline.passed(now())) break;
    pause.expires_after(kNamesPause);
    co_await pause.async_wait(net::kAwait);
  }
  self->lines_.erase(*line);
  co_return names;
}

Error TorchrunWatch::Body::clash(Names const& names) const {
  return {Errc::refused,
          "run " + run_id_ + ": host " + own_name_ + " (muster) and " + names +
              " would each decide who takes part, at " + to_text(place_),
          "give every muster --rdzv-conf=peers=torchrun, or start muster on those nodes, too; "
          "another job needs another --rdzv-id"};
}

TorchrunWatch::TorchrunWatch(net::asio::io_context& io, std::string run_id, std::string own_name,
                             net::Place place, Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(run_id), std::move(own_name), std::move(place),
                                   std::move(callbacks))) {}

TorchrunWatch::~TorchrunWatch() {
  body_->stop();
}

std::string TorchrunWatch::key() const {
  return body_->key();
}

void TorchrunWatch::written() {
  Body::written(body_);
}

void TorchrunWatch::visit() {
  Body::visit(body_);
}

void TorchrunWatch::visit_later() {
  Body::visit_later(body_);
}

void TorchrunWatch::visit(Visited then) {
  Body::visit(body_, std::move(then));
}

}  // namespace muster::launch
