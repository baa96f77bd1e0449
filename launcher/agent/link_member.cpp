// SPDX-License-Identifier: Apache-2.0
// Effects of member_step to calls of the agent, and back.

#include "launcher/agent/link_member.hpp"

#include "rendezvous/base/ip_address.hpp"
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

LinkMember::LinkMember(membership::MemberState state, LinkShell& shell)
    : state_(std::move(state)), shell_(shell) {}

control::Letter LinkMember::letter(membership::Message message) const {
  return {membership::header_of(state_), std::move(message)};
}

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
          [this](member::Say const& e) { shell_.say(letter(e.message)); },
          [this](member::CallSeat const& e) { shell_.call_seat(e.seat, letter(e.message)); },
          [this](member::Reply const& e) { shell_.reply(e.to, letter(e.message)); },
          [this](member::CallHost const& e) { shell_.call_host(e.host); },
          [this](member::BecomeHost const& e) { shell_.become_host(e.host); },
          [this](member::StepDown const& e) { shell_.step_down(e.by); },
          [this](member::KeepLastWord const& e) { shell_.keep_last_word(e); },
          [this](member::OpenStoreNow const& e) { open_store(e.wish); },
          [this](member::AdmitToStore const& e) { admit_to_store(e.wish); },
          [this](member::ProbePeers const& e) { shell_.probe(e.probe); },
          [this](member::StartWorkers const& e) { start_workers(e.commit); },
          [this](member::StopWorkers const& e) { listener_->on_stop(e.round, e.grace, e.why); },
          [this](member::PauseWorkers const&) { listener_->on_pause(); },
          [this](member::ResumeWorkers const&) { listener_->on_resume(); },
          [this](member::Tell const& e) { listener_->on_note(e.text); },
          [this](member::Conclude const& e) { shell_.concluded(outcome_of(e.outcome)); },
          [this](member::GiveUp const& e) { shell_.gave_up(e.error); },
          [this](member::WakeAt const& e) { shell_.wake_at(e.at); },
      },
      effect);
}

void LinkMember::open_store(membership::OpenStore const& message) {
  StoreWish const wish{message.round, message.address, message.peers};
  auto elsewhere = shell_.open_store(wish);
  auto const port = elsewhere ? *std::move(elsewhere) : listener_->open_store(wish);
  membership::StoreOpened result{wish.round, 0, {}};
  if (port)
    result.port = *port;
  else
    result.error = to_string(port.error());
  post_event(member::StoreIsOpen{std::move(result)});
}

void LinkMember::admit_to_store(membership::OpenStore const& message) {
  StoreWish const wish{message.round, message.address, message.peers};
  if (!shell_.admit_to_store(wish)) listener_->admit_to_store(wish);
}

void LinkMember::start_workers(membership::Commit const& commit) {
  auto view = view_of(commit, state_.facts.networks);
  if (!master_address_.empty()) view.master_addr = master_address_;
  if (master_port_ != 0) view.master_port = master_port_;
  listener_->on_round(view);
}

RoundView view_of(membership::Commit const& commit,
                  std::span<membership::NodeNetwork const> networks) {
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
  view.master_addr = with_zone(record.master.address, row.interface);
  view.master_port = record.master.port;
  view.hosts = commit.hosts;
  view.interface = row.interface;
  for (auto const& network : networks)
    if (auto const ip = parse_ip(network.address);
        ip && network.interface == row.interface && network.address == row.address)
      view.network = subnet_text(*ip, network.prefix_bits);
  return view;
}

Outcome outcome_of(membership::Outcome const& outcome) {
  return {outcome.success, outcome.exit_code, outcome.why, outcome.reports};
}

}  // namespace muster::launch
