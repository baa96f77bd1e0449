// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/torchrun_agreement.hpp"

#include "launcher/agent/torchrun_task.hpp"
#include "rendezvous/base/log.hpp"

namespace muster::launch {
namespace {

using torchrun::RoundKeys;
using torchrun::StorePlan;
using torchrun::WorkersStore;

// torchrun's read_timeout: after it its agents give up, too.
constexpr Duration kPatience = std::chrono::seconds{60};
// A store that one of the members holds.
constexpr Duration kClearPatience = std::chrono::seconds{5};
// How far back the address of the workers' store is looked for; torchrun writes it but once.
constexpr std::int64_t kRoundsBack = 10'000;

template <class... Keys>
std::vector<std::string> list_of(Keys const&... keys) {
  std::vector<std::string> list;
  (list.push_back(keys), ...);
  return list;
}

}  // namespace

class TorchrunAgreement::Body {
 public:
  using Ptr = std::shared_ptr<Body>;

  Body(net::asio::io_context& io, Options options, Callbacks callbacks)
      : io_(io),
        options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        seat_(options_.seat),
        keys_(options_.run_id, seat_.round),
        deadline_(deadline_in(kPatience)) {}

  static StoreJob run(Ptr self);
  void stop();

 private:
  static StoreTask<TorchrunRound> agree(Ptr self);
  static StoreTask<void> find_earlier(Ptr self);
  static StoreTask<std::optional<WorkersStore>> read_store(Ptr self, RoundKeys keys);
  static StoreTask<void> place_store(Ptr self);
  static StoreTask<void> clear_earlier(Ptr self);
  static StoreTask<void> publish(Ptr self);
  static StoreTask<void> hear_store(Ptr self);
  static StoreTask<void> tell_role(Ptr self);
  static StoreTask<void> give_ranks(Ptr self);
  static StoreTask<torchrun::AssignedRanks> hear_ranks(Ptr self);

  Result<void> use_own(Result<std::uint16_t> port);

  net::asio::io_context& io_;
  Options options_;
  Callbacks callbacks_;
  torchrun::Seat const& seat_;
  RoundKeys keys_;
  Deadline deadline_;
  StoreLine line_;
  std::optional<WorkersStore> earlier_, store_;
  bool stopped_ = false;
};

void TorchrunAgreement::Body::stop() {
  stopped_ = true;
  callbacks_ = {};
  if (line_) line_->close();
}

StoreJob TorchrunAgreement::Body::run(Ptr self) {
  auto result = co_await agree(self);
  auto const tell = self->callbacks_.on_end;
  if (!self->stopped_ && tell) tell(std::move(result));
}

StoreTask<TorchrunRound> TorchrunAgreement::Body::agree(Ptr self) {
  auto line = co_await open_line(self->io_, self->line_, self->options_.place, self->deadline_);
  if (!line) co_return line.error();
  if (self->stopped_) co_return Error{Errc::canceled, "the round was left", {}};
  self->line_ = *line;
  auto done = co_await find_earlier(self);
  if (done) done = co_await place_store(self);
  if (done) done = co_await tell_role(self);
  if (done && self->seat_.rank == 0) done = co_await give_ranks(self);
  if (done && self->seat_.rank != 0) done = co_await hear_store(self);
  if (!done) co_return done.error();
  auto const ranks = co_await hear_ranks(self);
  if (!ranks) co_return ranks.error();
  co_return TorchrunRound{self->seat_, *ranks, *self->store_};
}

// The workers' store.

StoreTask<std::optional<WorkersStore>> TorchrunAgreement::Body::read_store(Ptr self,
                                                                           RoundKeys keys) {
  auto const line = self->line_;
  auto const place = list_of(keys.master_addr, keys.master_port);
  auto const there = co_await line->check(place, self->deadline_);
  if (!there) co_return there.error();
  if (!*there) co_return std::optional<WorkersStore>();
  auto const texts = co_await line->multi_get(place, self->deadline_);
  if (!texts) co_return texts.error();
  auto const port = torchrun::read_port(texts->at(1));
  if (!port)
    co_return Error{
        Errc::protocol, "torchrun's MASTER_PORT is no port: " + texts->at(1).substr(0, 40), {}};
  WorkersStore store{texts->at(0), *port, std::nullopt};
  auto const note = list_of(keys.store_owner);
  auto const noted = co_await line->check(note, self->deadline_);
  if (!noted) co_return noted.error();
  if (*noted) {
    auto const text = co_await line->get(keys.store_owner, self->deadline_);
    if (!text) co_return text.error();
    store.owner = torchrun::read_owner(*text);
  }
  co_return std::optional<WorkersStore>(std::move(store));
}

// W2: a rank 0 that opened its store in an earlier round does not tell it again.
StoreTask<void> TorchrunAgreement::Body::find_earlier(Ptr self) {
  auto const last = std::max<std::int64_t>(0, self->seat_.round - kRoundsBack);
  for (auto round = self->seat_.round - 1; round >= last && !self->earlier_; --round) {
    auto keys = RoundKeys(self->options_.run_id, round);
    auto found = co_await read_store(self, std::move(keys));
    if (!found) co_return found.error();
    self->earlier_ = *std::move(found);
  }
  if (self->earlier_ && !self->earlier_->owner)
    self->earlier_->owner = torchrun::owner_by_address(self->seat_, self->earlier_->address);
  co_return ok();
}

Result<void> TorchrunAgreement::Body::use_own(Result<std::uint16_t> port) {
  if (!port) return std::move(port).error();
  store_ = WorkersStore{options_.own_address, *port, seat_.members[seat_.rank]};
  return ok();
}

StoreTask<void> TorchrunAgreement::Body::place_store(Ptr self) {
  auto plan = torchrun::plan_store(self->seat_, self->earlier_);
  if (plan.renews_own) {
    auto const renewed = self->callbacks_.renew_store();
    if (!renewed) co_return renewed.error();
  }
  if (plan.clears_earlier) {
    auto const cleared = co_await clear_earlier(self);
    if (self->stopped_) co_return Error{Errc::canceled, "the round was left", {}};
    if (!cleared)
      log::info("the workers' store of the round before: " + to_string(cleared.error()));
    // Its holder takes part, but holds it no more: its agents do not share their store.
    auto const is_gone = !cleared && cleared.error().code == Errc::unreachable;
    if (is_gone && plan.place == StorePlan::Place::earlier) plan.place = StorePlan::Place::own;
  }
  if (plan.place == StorePlan::Place::told) co_return ok();
  if (plan.place == StorePlan::Place::earlier) {
    self->store_ = self->earlier_;
  } else {
    auto const opened = self->use_own(self->callbacks_.open_store());
    if (!opened) co_return opened.error();
  }
  co_return co_await publish(self);
}

// W1: torchrun's workers of a new round meet in the store of the round before, and read what the
// dead have left there.
StoreTask<void> TorchrunAgreement::Body::clear_earlier(Ptr self) {
  auto const deadline = deadline_in(kClearPatience);
  auto const none = StoreLine();
  auto const place = net::Place{self->earlier_->address, self->earlier_->port};
  auto line = co_await open_line(self->io_, none, place, deadline);
  if (!line) co_return line.error();
  auto const keys = co_await (*line)->list_keys(deadline);
  if (!keys) co_return keys.error();
  for (auto const& key : *keys) {
    auto const deleted = co_await (*line)->delete_key(key, deadline);
    if (!deleted) co_return deleted.error();
  }
  co_return ok();
}

StoreTask<void> TorchrunAgreement::Body::publish(Ptr self) {
  auto const line = self->line_;
  auto const& store = *self->store_;
  auto names = list_of(self->keys_.master_addr, self->keys_.master_port);
  auto values = list_of(store.address, std::to_string(store.port));
  if (store.owner) {
    names.insert(names.begin(), self->keys_.store_owner);
    values.insert(values.begin(), torchrun::write_owner(*store.owner));
  }
  co_return co_await line->multi_set(std::move(names), std::move(values), self->deadline_);
}

// A rank 0 that tells an address does it before it tells its role.
StoreTask<void> TorchrunAgreement::Body::hear_store(Ptr self) {
  auto const line = self->line_;
  auto const role = list_of(self->keys_.role_info(0));
  auto const told = co_await line->wait(role, self->deadline_);
  if (!told) co_return told.error();
  auto found = co_await read_store(self, self->keys_);
  if (!found) co_return found.error();
  self->store_ = *std::move(found);
  auto& store = self->store_;
  auto const& first = self->seat_.members.front();
  if (!store && !self->earlier_)
    co_return Error{Errc::protocol, "host " + first.addr + ", rank 0, tells no MASTER_ADDR", {}};
  if (!store) {
    store = self->earlier_;
    if (!store->owner) store->owner = first;
  } else if (!store->owner) {
    auto const same = self->earlier_ && self->earlier_->address == store->address &&
                      self->earlier_->port == store->port;
    store->owner = same ? self->earlier_->owner : first;
  }
  co_return co_await publish(self);
}

// Ranks.

StoreTask<void> TorchrunAgreement::Body::tell_role(Ptr self) {
  auto const line = self->line_;
  auto key = self->keys_.role_info(self->seat_.rank);
  auto text = torchrun::write_role_info(self->options_.role, self->seat_.rank);
  co_return co_await line->set(std::move(key), std::move(text), self->deadline_);
}

StoreTask<void> TorchrunAgreement::Body::give_ranks(Ptr self) {
  auto const line = self->line_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < self->seat_.members.size(); ++i)
    names.push_back(self->keys_.role_info(i));
  auto const texts = co_await line->multi_get(names, self->deadline_);
  if (!texts) co_return texts.error();
  std::vector<torchrun::RoleInfo> roles;
  for (auto const& text : *texts) {
    auto role = torchrun::read_role_info(text);
    if (!role) co_return role.error();
    roles.push_back(*std::move(role));
  }
  names.clear();
  std::vector<std::string> values;
  for (auto const& ranks : torchrun::assign_ranks(roles)) {
    names.push_back(self->keys_.assigned_ranks(values.size()));
    values.push_back(torchrun::write_assigned_ranks(ranks));
  }
  co_return co_await line->multi_set(std::move(names), std::move(values), self->deadline_);
}

StoreTask<torchrun::AssignedRanks> TorchrunAgreement::Body::hear_ranks(Ptr self) {
  auto const line = self->line_;
  auto key = self->keys_.assigned_ranks(self->seat_.rank);
  auto const text = co_await line->get(std::move(key), self->deadline_);
  if (!text) co_return text.error();
  co_return torchrun::read_assigned_ranks(*text);
}

TorchrunAgreement::TorchrunAgreement(net::asio::io_context& io, Options options,
                                     Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(options), std::move(callbacks))) {
  start_job(io, Body::run(body_));
}

TorchrunAgreement::~TorchrunAgreement() {
  body_->stop();
}

}  // namespace muster::launch
