// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/threads_group.hpp"

#include "rendezvous/base/now.hpp"
#include "worker_runtime/comm/background_thread.hpp"
#include "worker_runtime/comm/local_reduce.hpp"
#include "worker_runtime/comm/signature.hpp"
#include "worker_runtime/comm/split_choices.hpp"
#include "worker_runtime/comm/work_state.hpp"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace muster::worker {
namespace {

// A wait without this bound would overflow the clock where a deadline is "never".
constexpr Duration kLongestNap = std::chrono::hours{1};

// What one rank handed in for one operation.
struct Part {
  std::vector<Collective> collectives;
  std::shared_ptr<Work::State> state;
};

struct Operation {
  std::vector<std::optional<Part>> parts;
  int arrived = 0;
  Deadline deadline = Deadline::never();  // the earliest of the parts'
};

std::string describe_part(Part const& part, int size) {
  if (part.collectives.empty()) return "nothing";
  auto text = describe(signature_of(part.collectives[0], size), part.collectives[0].site);
  if (part.collectives.size() > 1)
    text += " and " + std::to_string(part.collectives.size() - 1) + " more";
  return text;
}

bool agree(Part const& a, Part const& b, int size) {
  if (a.collectives.size() != b.collectives.size()) return false;
  for (std::size_t i = 0; i < a.collectives.size(); ++i)
    if (signature_of(a.collectives[i], size) != signature_of(b.collectives[i], size)) return false;
  return true;
}

// The part that the ranks share. Its thread ends when the last rank has left.
class Hub {
 public:
  Hub(int size, Duration timeout, std::string backend)
      : size_(size),
        timeout_(timeout),
        backend_(std::move(backend)),
        left_(ranks(), false),
        next_(ranks(), 0) {
    if (size > 1) thread_ = std::thread([this] { run(); });
  }
  ~Hub() {
    {
      std::lock_guard const lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Hub(Hub const&) = delete;
  Hub& operator=(Hub const&) = delete;

  int size() const { return size_; }
  std::string const& backend() const { return backend_; }

  Work submit(int rank, std::span<Collective const> collectives);
  void leave(int rank);
  void abort(Error error);
  std::shared_ptr<Hub> sub_hub(std::uint64_t split, int color, int size);

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  void run();
  std::optional<Error> fault(Operation const& operation) const;
  void carry_out(Operation& operation);
  std::string missing(Operation const& operation) const;
  void kill(Error error, std::unique_lock<std::mutex>& lock);

  int const size_;
  Duration const timeout_;
  std::string const backend_;

  std::mutex mutex_;  // guards all below but reducer_, which belongs to whoever carries out
  std::condition_variable changed_;
  std::deque<Operation> queue_;
  std::uint64_t first_ = 0;          // the sequence number of queue_'s front
  std::vector<bool> left_;           // ranks whose group is gone
  std::vector<std::uint64_t> next_;  // each rank's next sequence number
  std::optional<Error> dead_;
  bool closing_ = false;
  std::map<std::pair<std::uint64_t, int>, std::weak_ptr<Hub>> sub_hubs_;
  TreeReducer reducer_;
  std::thread thread_;
};

Work Hub::submit(int rank, std::span<Collective const> collectives) {
  auto state = std::make_shared<Work::State>();
  Part part{{collectives.begin(), collectives.end()}, state};
  auto deadline = deadline_in(timeout_);
  for (auto const& collective : collectives)
    if (collective.deadline) deadline.at = std::min(deadline.at, collective.deadline->at);
  std::unique_lock lock(mutex_);
  if (dead_) return failed_work(*dead_);
  auto const at = static_cast<std::size_t>(next_[static_cast<std::size_t>(rank)]++ - first_);
  if (at == queue_.size()) queue_.push_back(Operation{std::vector<std::optional<Part>>(ranks())});
  auto& operation = queue_[at];
  operation.parts[static_cast<std::size_t>(rank)] = std::move(part);
  operation.deadline.at = std::min(operation.deadline.at, deadline.at);
  ++operation.arrived;
  if (size_ > 1) {
    changed_.notify_all();
    return Work(std::move(state));
  }
  auto ready = std::move(queue_.front());
  queue_.pop_front();
  ++first_;
  lock.unlock();
  carry_out(ready);
  return Work(std::move(state));
}

std::string Hub::missing(Operation const& operation) const {
  std::string text;
  for (std::size_t rank = 0; rank < ranks(); ++rank)
    if (!operation.parts[rank]) text += (text.empty() ? "rank " : ", ") + std::to_string(rank);
  return text;
}

// Why this operation can never end, if it cannot.
std::optional<Error> Hub::fault(Operation const& operation) const {
  auto const* first = static_cast<Part const*>(nullptr);
  std::size_t first_rank = 0;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    auto const& part = operation.parts[rank];
    if (part && first == nullptr) {
      first = &*part;
      first_rank = rank;
    } else if (part && !agree(*first, *part, size_)) {
      return Error{Errc::mismatch,
                   "rank " + std::to_string(first_rank) + " called " +
                       describe_part(*first, size_) + ", but rank " + std::to_string(rank) +
                       " called " + describe_part(*part, size_) + " at the same place",
                   "every rank submits the same operations in the same order"};
    }
  }
  if (first == nullptr) return std::nullopt;
  for (std::size_t rank = 0; rank < ranks(); ++rank)
    if (!operation.parts[rank] && left_[rank])
      return Error{Errc::peer_lost,
                   "rank " + std::to_string(rank) + " left the group; " +
                       describe_part(*first, size_) + " waits for it",
                   {}};
  if (operation.arrived < size_ && operation.deadline.passed(now()))
    return Error{Errc::timeout,
                 describe_part(*first, size_) +
                     " did not begin by its deadline; missing: " + missing(operation),
                 {}};
  return std::nullopt;
}

void Hub::carry_out(Operation& operation) {
  auto const count = operation.parts[0]->collectives.size();
  std::vector<Collective const*> by_rank(ranks());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      by_rank[rank] = &operation.parts[rank]->collectives[i];
    run_locally(by_rank, reducer_);
  }
  for (auto& part : operation.parts) {
    part->collectives.clear();
    part->state->complete(ok());
  }
}

void Hub::kill(Error error, std::unique_lock<std::mutex>& lock) {
  if (!dead_) dead_ = std::move(error);
  auto const verdict = *dead_;
  auto const orphans = std::exchange(queue_, {});
  lock.unlock();
  for (auto const& operation : orphans)
    for (auto const& part : operation.parts)
      if (part) part->state->complete(verdict);
  lock.lock();
}

void Hub::run() {
  become_progress_thread();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (dead_ && !queue_.empty()) {
      kill(*dead_, lock);
    } else if (dead_ || queue_.empty()) {
      changed_.wait(lock);  // ended by submit, abort, or the destructor
    } else if (auto error = fault(queue_.front())) {
      kill(std::move(*error), lock);
    } else if (queue_.front().arrived == size_) {
      auto ready = std::move(queue_.front());
      queue_.pop_front();
      ++first_;
      lock.unlock();
      carry_out(ready);
      lock.lock();
    } else {
      changed_.wait_for(lock, std::min(queue_.front().deadline.left(now()), kLongestNap));
    }
  }
  kill(Error{Errc::canceled, "the group was destroyed", {}}, lock);
}

void Hub::leave(int rank) {
  {
    std::lock_guard const lock(mutex_);
    left_[static_cast<std::size_t>(rank)] = true;
  }
  changed_.notify_all();
}

void Hub::abort(Error error) {
  {
    std::lock_guard const lock(mutex_);
    if (!dead_) dead_ = std::move(error);
  }
  changed_.notify_all();
}

std::shared_ptr<Hub> Hub::sub_hub(std::uint64_t split, int color, int size) {
  std::lock_guard const lock(mutex_);
  auto& entry = sub_hubs_[{split, color}];
  auto hub = entry.lock();
  if (!hub) entry = hub = std::make_shared<Hub>(size, timeout_, backend_);
  return hub;
}

class ThreadsGroup final : public ProcessGroup {
 public:
  ThreadsGroup(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~ThreadsGroup() override { hub_->leave(rank_); }

  GroupShape shape() const override {
    GroupShape shape;
    shape.rank = shape.local_index = rank_;
    shape.size = shape.ranks_per_host = hub_->size();
    shape.backend = hub_->backend();
    return shape;
  }

  Work submit(std::span<Collective const> operations) override {
    for (auto const& operation : operations)
      if (auto checked = check_collective(operation, shape()); !checked)
        return failed_work(std::move(checked).error());
    return hub_->submit(rank_, operations);
  }

  Result<std::shared_ptr<Storage>> alloc(std::size_t bytes, Device device) override {
    if (device != Device::cpu)
      return Error{Errc::unsupported, "the backend threads allocates CPU memory only", {}};
    return Storage::make(bytes);
  }

  Result<std::shared_ptr<ProcessGroup>> split(int color, int key) override {
    MUSTER_TRY(auto const choices, exchange_choices(*this, color, key));
    auto const split = splits_++;
    std::shared_ptr<ProcessGroup> made;
    if (color >= 0) {
      auto const members = members_of(choices, color);
      auto hub = hub_->sub_hub(split, color, static_cast<int>(members.size()));
      auto const place = std::find(members.begin(), members.end(), rank_) - members.begin();
      made = std::make_shared<ThreadsGroup>(std::move(hub), static_cast<int>(place));
    }
    // Everybody holds its part before anybody may drop it: a hub that nobody holds would be made
    // twice.
    MUSTER_CHECK(barrier(*this).wait());
    return made;
  }

  void abort(Reason reason) noexcept override { hub_->abort(std::move(reason.error)); }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
  std::uint64_t splits_ = 0;
};

}  // namespace

std::vector<std::shared_ptr<ProcessGroup>> make_threads_groups(int size, Duration timeout,
                                                               std::string const& backend) {
  MUSTER_ASSERT(size > 0, "a group has at least one rank");
  auto hub = std::make_shared<Hub>(size, timeout, backend);
  std::vector<std::shared_ptr<ProcessGroup>> groups;
  for (int rank = 0; rank < size; ++rank)
    groups.push_back(std::make_shared<ThreadsGroup>(hub, rank));
  return groups;
}

}  // namespace muster::worker
