// SPDX-License-Identifier: Apache-2.0
// Effects of member_step to calls of the agent, and back.

#include "launcher/agent/link_member.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/member_step.hpp"

namespace muster::launch {
namespace {

namespace member = membership::member;

}  // namespace

membership::MemberState make_member(membership::NodeFacts facts, membership::JobSettings job,
                                    std::string run_id, std::string backend, std::string endpoint) {
  membership::MemberState state;
  state.facts = std::move(facts);
  state.job = job;
  state.run_id = std::move(run_id);
  state.backend = std::move(backend);
  state.endpoint = std::move(endpoint);
  return state;
}

LinkMember::LinkMember(membership::MemberState state, Shell shell)
    : state_(std::move(state)), shell_(std::move(shell)) {}

void LinkMember::start(MembershipListener& listener) {
  listener_ = &listener;
  for (auto const& effect : membership::member_start(state_, now())) carry_out(effect);
}

void LinkMember::post_event(member::Event event) {
  shell_.post([this, alive = std::weak_ptr<bool>(alive_), event = std::move(event)] {
    if (!alive.expired()) this->event(event);
  });
}

void LinkMember::event(member::Event const& event) {
  auto const alive = std::weak_ptr<bool>(alive_);
  for (auto const& effect : membership::member_step(state_, event, now())) {
    carry_out(effect);
    if (alive.expired()) return;  // the agent let go of its link inside a callback
  }
}

void LinkMember::workers_failed(WorkerFailure failure) {
  membership::Failure note{failure.round, failure.exit_code, failure.is_consequence, 0,
                           std::move(failure.report)};
  post_event(member::WorkersFailed{std::move(note), TimePoint{Duration{failure.at_ns}}});
}

void LinkMember::use_master(std::string address, std::uint16_t port) {
  master_address_ = std::move(address);
  master_port_ = port;
}

void LinkMember::carry_out(member::Effect const& effect) {
  std::visit(
      Overload{
          [this](member::Say const& e) { shell_.say(membership::header_of(state_), e.message); },
          [this](member::OpenStoreNow const& e) { open_store(e.round); },
          [this](member::StartWorkers const& e) { start_workers(e.commit); },
          [this](member::StopWorkers const& e) { listener_->on_stop(e.round, e.grace, e.why); },
          [this](member::Conclude const& e) { shell_.concluded(outcome_of(e.outcome)); },
          [this](member::GiveUp const& e) { shell_.gave_up(e.error); },
          [this](member::WakeAt const& e) { shell_.wake_at(e.at); },
      },
      effect);
}

void LinkMember::open_store(RoundNumber round) {
  auto const port = shell_.open_store ? shell_.open_store(round) : listener_->open_store(round);
  membership::StoreOpened result{round, 0, {}};
  if (port)
    result.port = *port;
  else
    result.error = to_string(port.error());
  post_event(member::StoreIsOpen{std::move(result)});
}

void LinkMember::start_workers(membership::Commit const& commit) {
  auto view = view_of(commit);
  if (!master_address_.empty()) view.master_addr = master_address_;
  if (master_port_ != 0) view.master_port = master_port_;
  listener_->on_round(view);
}

RoundView view_of(membership::Commit const& commit) {
  auto const& record = commit.record;
  auto const& row = commit.row;
  RoundView view;
  view.round = record.round;
  view.restart_count = record.used.worker_failures;
  view.repeat = record.repeat;
  view.group_rank = static_cast<int>(row.group_rank);
  view.group_world_size = static_cast<int>(record.nodes);
  view.rank_base = static_cast<int>(row.rank_base);
  view.world_size = static_cast<int>(record.world_size);
  view.role_rank_base = static_cast<int>(row.role_rank_base);
  view.role_world_size = static_cast<int>(row.role_world_size);
  view.master_addr = record.master.address;
  view.master_port = record.master.port;
  view.hosts = commit.hosts;
  return view;
}

Outcome outcome_of(membership::Outcome const& outcome) {
  return {outcome.success, outcome.exit_code, outcome.why, outcome.reports};
}

}  // namespace muster::launch
