// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/worker_group.hpp"

#include "launcher/process/process_tree.hpp"
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
  bool end_held_back = false;
};

WorkerGroup::WorkerGroup(asio::io_context& io, Inherited const& inherited, CgroupLeaf* leaf,
                         Callbacks callbacks)
    : io_(io),
      inherited_(inherited),
      leaf_(leaf),
      callbacks_(std::move(callbacks)),
      report_(io),
      exec_timer_(io),
      timer_(io) {}

WorkerGroup::~WorkerGroup() {
  stop_waiting_for_start();
}

void WorkerGroup::start(std::vector<Command> commands, Duration patience) {
  if (state_.released) return;
  exec_patience_ = patience;
  spawning_.emplace(std::move(commands), inherited_);
  for (auto& child : spawning_->take_children()) {
    members_.emplace_back(io_, std::move(child));
    state_.workers.emplace_back();
    watch(members_.size() - 1);
  }
  if (spawning_->report() >= 0)
    await_start();
  else
    patience = Duration::zero();
  exec_timer_.expires_after(patience);
  exec_timer_.async_wait([this, alive = std::weak_ptr(alive_)](net::error_code failure) {
    if (!failure && !alive.expired()) settle_start();
  });
}

void WorkerGroup::await_start() {
  if (!report_.is_open()) report_.assign(spawning_->report());
  report_.async_wait(asio::posix::descriptor_base::wait_read,
                     [this, alive = std::weak_ptr(alive_)](net::error_code failure) {
                       if (failure || alive.expired() || settled_) return;
                       spawning_->finished() ? settle_start() : await_start();
                     });
}

void WorkerGroup::stop_waiting_for_start() {
  settled_ = true;
  exec_timer_.cancel();
  if (report_.is_open()) report_.release();  // `spawning_` owns the descriptor
}

// All have executed, or one cannot, or the patience is over.
void WorkerGroup::settle_start() {
  if (settled_) return;
  stop_waiting_for_start();
  bool const finished = spawning_->finished();
  auto error = spawning_->error();
  if (!finished && !error)
    error = Error{Errc::timeout,
                  "a worker's program could not be loaded within " +
                      std::to_string(exec_patience_ / std::chrono::seconds{1}) + " s",
                  "the file system that holds it does not answer"};
  if (finished) spawning_.reset();
  callbacks_.on_started(error ? Result<void>(*std::move(error)) : ok());
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (std::exchange(members_[i].end_held_back, false) && !state_.released) look_at(i);
}

void WorkerGroup::watch(std::size_t index) {
  members_[index].watched.async_wait(
      asio::posix::descriptor_base::wait_read,
      [this, index, alive = std::weak_ptr(alive_)](net::error_code failure) {
        if (!failure && !alive.expired()) look_at(index);  // canceled: the group is over
      });
}

// A child that could not execute has said so before it ended.
void WorkerGroup::look_at(std::size_t index) {
  auto const status = members_[index].child.peek();
  if (!status) return watch(index);
  if (!settled_ && spawning_->finished()) settle_start();
  if (!settled_) {
    members_[index].end_held_back = true;
    return;
  }
  if (state_.released) return;
  callbacks_.on_ended(static_cast<int>(index), *status);
  step(group::Ended{index});
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
    timer_.async_wait([this, alive = std::weak_ptr(alive_)](net::error_code failure) {
      if (!failure && !alive.expired()) step(group::Tick{});
    });
  } else if (std::holds_alternative<group::Release>(effect)) {
    release();
  }
}

void WorkerGroup::release() {
  timer_.cancel();
  stop_waiting_for_start();
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
