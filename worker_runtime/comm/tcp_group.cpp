// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/tcp_group.hpp"

#include "rendezvous/base/now.hpp"
#include "worker_runtime/comm/background_thread.hpp"
#include "worker_runtime/comm/exchange.hpp"
#include "worker_runtime/comm/mesh_split.hpp"
#include "worker_runtime/comm/split_choices.hpp"
#include "worker_runtime/comm/work_state.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace muster::worker {
namespace {

struct Submission {
  std::vector<Collective> collectives;
  Deadline deadline;
  std::shared_ptr<Work::State> state;
};

std::string describe_submission(Submission const& submission) {
  if (submission.collectives.empty()) return "an empty operation";
  auto const& first = submission.collectives.front();
  return describe(signature_of(first, static_cast<int>(first.counts.size())), first.site);
}

GroupShape shape_of(Mesh const& mesh) {
  GroupShape shape;
  shape.rank = mesh.rank;
  shape.size = mesh.size();
  shape.ranks_per_host = 0;
  shape.backend = "cpu";
  for (int peer = 0; peer < mesh.size(); ++peer)
    if (mesh.peer(peer).seat.host == mesh.peer(mesh.rank).seat.host) {
      ++shape.ranks_per_host;
      shape.local_index += peer < mesh.rank ? 1 : 0;
    }
  return shape;
}

std::vector<Seat> seats_of(Mesh const& mesh) {
  std::vector<Seat> seats;
  for (auto const& link : mesh.peers) seats.push_back(link.seat);
  return seats;
}

class TcpGroup final : public ProcessGroup,
                       public Progress,
                       public std::enable_shared_from_this<TcpGroup> {
 public:
  TcpGroup(Mesh mesh, Duration timeout, UniqueFd wake)
      : shape_(shape_of(mesh)),
        seats_(seats_of(mesh)),
        timeout_(timeout),
        wake_(std::move(wake)),
        mesh_(std::move(mesh)),
        exchange_(mesh_, Interrupt{wake_.get(), [this] { return look(); }}),
        thread_([this] { run(); }) {}

  ~TcpGroup() override {
    {
      std::lock_guard const lock(mutex_);
      closing_ = true;
    }
    wake();
    thread_.join();
  }
  TcpGroup(TcpGroup const&) = delete;
  TcpGroup& operator=(TcpGroup const&) = delete;

  GroupShape shape() const override { return shape_; }
  Work submit(std::span<Collective const> operations) override;
  Result<std::shared_ptr<Storage>> alloc(std::size_t bytes, Device device) override;
  Result<std::shared_ptr<ProcessGroup>> split(int color, int key) override;
  void abort(Reason reason) noexcept override;
  void help(Work::State const& state) override;

 private:
  void run();
  bool step();
  std::optional<Submission> next();
  Result<void> carry_out(Submission const& submission);
  void end(Error error);
  void listen();
  void wake() const;
  void wake_if_needed();
  void drain_wake() const;
  std::optional<Error> look();

  GroupShape const shape_;
  std::vector<Seat> const seats_;
  Duration const timeout_;
  UniqueFd const wake_;  // an eventfd: something was submitted, aborted, or the end has come

  std::mutex mutex_;
  std::deque<Submission> queue_;  // guarded by mutex_
  std::optional<Error> dead_;     // guarded by mutex_
  std::optional<Error> abort_;    // guarded by mutex_: asked for, not yet carried out
  bool closing_ = false;          // guarded by mutex_

  std::mutex turn_;  // held by whoever makes progress: guards all below
  bool ended_ = false;
  Mesh mesh_;
  Exchange exchange_;
  std::uint64_t sequence_ = 0;

  std::thread thread_;
};

void TcpGroup::wake() const {
  std::uint64_t const one = 1;
  // Fails only where the counter is full, and then it is readable already.
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void TcpGroup::wake_if_needed() {
  {
    std::lock_guard const lock(mutex_);
    if (queue_.empty() && !dead_ && !abort_ && !closing_) return;
  }
  wake();
}

void TcpGroup::drain_wake() const {
  std::uint64_t count = 0;
  static_cast<void>(!::read(wake_.get(), &count, sizeof count));
}

Work TcpGroup::submit(std::span<Collective const> operations) {
  auto deadline = deadline_in(timeout_);
  for (auto const& operation : operations) {
    if (auto checked = check_collective(operation, shape_); !checked)
      return failed_work(std::move(checked).error());
    if (operation.deadline) deadline.at = std::min(deadline.at, operation.deadline->at);
  }
  auto state = std::make_shared<Work::State>(weak_from_this());
  {
    std::lock_guard const lock(mutex_);
    if (dead_) return failed_work(*dead_);
    if (abort_) return failed_work(*abort_);
    queue_.push_back(Submission{{operations.begin(), operations.end()}, deadline, state});
  }
  wake();
  return Work(std::move(state));
}

Result<std::shared_ptr<Storage>> TcpGroup::alloc(std::size_t bytes, Device device) {
  if (device != Device::cpu)
    return Error{Errc::unsupported, "the backend cpu allocates CPU memory only", {}};
  return Storage::make(bytes);
}

Result<std::shared_ptr<ProcessGroup>> TcpGroup::split(int color, int key) {
  MUSTER_TRY(auto const choices, exchange_choices(*this, color, key));
  MUSTER_TRY(auto mesh, split_mesh(*this, seats_, choices, color, deadline_in(timeout_)));
  if (!mesh) return std::shared_ptr<ProcessGroup>();
  return make_tcp_group(std::move(*mesh), timeout_);
}

void TcpGroup::abort(Reason reason) noexcept {
  {
    std::lock_guard const lock(mutex_);
    if (!abort_) abort_ = std::move(reason.error);
  }
  wake();
}

// Called by the exchange whenever it has been woken.
std::optional<Error> TcpGroup::look() {
  drain_wake();
  std::lock_guard const lock(mutex_);
  if (abort_) return abort_;
  if (closing_) return Error{Errc::canceled, "the group was destroyed", {}};
  auto const time = now();
  for (auto const& waiting : queue_)
    if (waiting.deadline.passed(time))
      return Error{Errc::timeout,
                   describe_submission(waiting) +
                       " did not begin by its deadline: operations before it have not ended",
                   {}};
  return std::nullopt;
}

std::optional<Submission> TcpGroup::next() {
  std::lock_guard const lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  auto submission = std::move(queue_.front());
  queue_.pop_front();
  return submission;
}

// The next operation, to its end. False where there is nothing to do, now or any more.
bool TcpGroup::step() {
  if (ended_) return false;
  if (auto asked = look()) {
    end(*std::move(asked));
    return false;
  }
  auto submission = next();
  if (!submission) return false;
  auto result = carry_out(*submission);
  submission->collectives.clear();
  if (!result) end(result.error());
  submission->state->complete(std::move(result));
  return !ended_;
}

void TcpGroup::run() {
  become_progress_thread();
  std::vector<pollfd> entries;
  while (true) {
    {
      std::lock_guard const turn(turn_);
      listen();
      while (step()) {
      }
      if (ended_) return;
      entries.assign(1, pollfd{wake_.get(), POLLIN, 0});
      watch_controls(mesh_, entries);
    }
    // Ended by submit, abort, a peer or the destructor. A helper may close one of these
    // connections meanwhile: whatever is seen is only a reason to look.
    static_cast<void>(::poll(entries.data(), entries.size(), -1));
  }
}

void TcpGroup::help(Work::State const& state) {
  {
    std::unique_lock const turn(turn_, std::try_to_lock);
    if (!turn) return;
    while (!state.done() && step()) {
    }
  }
  // The helper may have read the wake-up that was meant for the group's thread.
  wake_if_needed();
}

// The group is over: peers are told, and all that waits ends with the error.
void TcpGroup::end(Error error) {
  std::deque<Submission> orphans;
  bool leaving = false;
  {
    std::lock_guard const lock(mutex_);
    ended_ = true;
    dead_ = error;
    leaving = closing_ && !abort_;
    orphans.swap(queue_);
  }
  if (leaving)
    announce(mesh_, Bye{});
  else
    announce(mesh_, Abort{mesh_.told.value_or(error)});
  for (auto const& orphan : orphans) orphan.state->complete(error);
}

Result<void> TcpGroup::carry_out(Submission const& submission) {
  for (auto const& collective : submission.collectives) {
    Job job;
    job.collective = &collective;
    job.signature = signature_of(collective, shape_.size);
    job.request = plan_request_of(collective, shape_);
    job.plan = make_plan(job.request);
    job.sequence = sequence_++;
    job.deadline = submission.deadline;
    MUSTER_CHECK(exchange_.run(job));
  }
  return ok();
}

// To peers, between operations: their abort is ours.
void TcpGroup::listen() {
  if (ended_) return;
  if (auto news = read_controls(mesh_); !news) {
    std::lock_guard const lock(mutex_);
    if (!abort_) abort_ = std::move(news).error();
  }
}

}  // namespace

Result<std::shared_ptr<ProcessGroup>> make_tcp_group(Mesh mesh, Duration timeout) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return from_errno(errno, "eventfd");
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<TcpGroup>(std::move(mesh), timeout, std::move(wake)));
}

}  // namespace muster::worker
