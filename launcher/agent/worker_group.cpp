// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/worker_group.hpp"

#include "launcher/process/process_tree.hpp"
#include "launcher/process/spawn.hpp"
#include "rendezvous/base/now.hpp"

#include <csignal>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

// What a round leaves behind dies at once; only a process stuck in the kernel takes longer.
constexpr Duration kSweepPatience = std::chrono::seconds{2};

}  // namespace

struct WorkerGroup::Member {
  Member(asio::io_context& io, Child started)
      : child(std::move(started)), watched(io, child.pidfd()) {}
  ~Member() { watched.release(); }  // the child owns the descriptor
  Member(Member const&) = delete;
  Member& operator=(Member const&) = delete;

  Child child;
  asio::posix::stream_descriptor watched;
};

WorkerGroup::WorkerGroup(asio::io_context& io, InheritedSignals const& inherited, CgroupLeaf* leaf,
                         Callbacks callbacks)
    : io_(io), inherited_(inherited), leaf_(leaf), callbacks_(std::move(callbacks)), timer_(io) {}

WorkerGroup::~WorkerGroup() = default;

Result<void> WorkerGroup::start(std::span<Command const> commands) {
  auto spawned = spawn_all(commands, inherited_);
  for (auto& child : spawned.children) {
    members_.emplace_back(io_, std::move(child));
    state_.workers.emplace_back();
    watch(members_.size() - 1);
  }
  if (spawned.error) return *std::move(spawned.error);
  return ok();
}

void WorkerGroup::watch(std::size_t index) {
  auto const on_readable = [this, index](net::error_code failure) {
    if (failure) return;  // canceled: the group is over
    auto const status = members_[index].child.peek();
    if (!status) return watch(index);
    callbacks_.on_ended(static_cast<int>(index), *status);
    step(group::Ended{index});
  };
  members_[index].watched.async_wait(asio::posix::descriptor_base::wait_read, on_readable);
}

void WorkerGroup::stop(int signal, Duration grace) {
  step(group::Stop{signal, grace});
}

void WorkerGroup::kill() {
  step(group::KillNow{});
}

void WorkerGroup::signal(int number) {
  for (auto const& member : members_)
    if (!member.child.is_reaped()) member.child.signal_group(number);
}

int WorkerGroup::pid_of(int local_rank) const {
  auto const index = static_cast<std::size_t>(local_rank);
  return index < members_.size() ? static_cast<int>(members_[index].child.pid()) : 0;
}

void WorkerGroup::step(group::Event const& event) {
  for (auto const& effect : group_step(state_, event, now())) carry_out(effect);
}

void WorkerGroup::carry_out(group::Effect const& effect) {
  if (auto const* send = std::get_if<group::SendSignal>(&effect)) {
    members_[send->worker].child.signal_group(send->signal);
    members_[send->worker].child.signal_group(SIGCONT);
  } else if (auto const* one = std::get_if<group::Kill>(&effect)) {
    members_[one->worker].child.signal_group(SIGKILL);
  } else if (auto const* wake = std::get_if<group::WakeAt>(&effect)) {
    timer_.expires_after(std::max(Duration::zero(), wake->at - now()));
    timer_.async_wait([this](net::error_code failure) {
      if (!failure) step(group::Tick{});
    });
  } else if (std::holds_alternative<group::Release>(effect)) {
    release();
  }
}

void WorkerGroup::release() {
  timer_.cancel();
  for (auto& member : members_) {
    member.watched.cancel();
    member.child.signal_group(SIGKILL);
    if (member.child.peek()) member.child.reap();
  }
  int unclean = 0;
  if (leaf_ != nullptr && has_children()) leaf_->kill();
  if (has_children() && !end_descendants(kSweepPatience).complete)
    for (auto const& worker : state_.workers)
      if (worker.phase == WorkerPhase::lost) ++unclean;
  callbacks_.on_released(unclean);
}

}  // namespace muster::launch
