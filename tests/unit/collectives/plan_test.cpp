// SPDX-License-Identifier: Apache-2.0
// Runs the plans of all ranks symbolically: values are expression trees, links are queues.
#include "worker_runtime/collectives/plan.hpp"

#include "worker_runtime/collectives/reduction_order.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>
#include <optional>
#include <set>

using namespace muster::worker;

namespace {

using Symbol = int;  // leaves are 0 .. n-1 (whose contribution), joins are numbered as they appear
constexpr Symbol kNothing = -1;

class Symbols {
 public:
  explicit Symbols(int leaves) : next_(leaves) {}
  Symbol join(Symbol left, Symbol right) {
    auto const [entry, fresh] = joins_.try_emplace({left, right}, next_);
    if (fresh) ++next_;
    return entry->second;
  }
  Symbol tree(int n) {
    return tree_fold(
        0, n, [](int i) { return Symbol{i}; }, [&](Symbol a, Symbol b) { return join(a, b); });
  }

 private:
  std::map<std::pair<Symbol, Symbol>, Symbol> joins_;
  Symbol next_;
};

using Values = std::vector<Symbol>;

struct Message {
  Range range;
  Values values;
};

class World {
 public:
  World(PlanRequest request, std::vector<Values> start)
      : size_(request.size), symbols_(request.size), held_(std::move(start)) {
    for (int rank = 0; rank < size_; ++rank) {
      request.rank = rank;
      plans_.push_back(make_plan(request));
    }
    at_.resize(plans_.size());
    sent_.resize(plans_.size());
  }

  // False if some rank waits for a message that never comes, or one is left over.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < size_; ++rank)
        while (advance(rank)) moved = true;
    }
    for (int rank = 0; rank < size_; ++rank)
      if (at_[index(rank)] != plans_[index(rank)].rounds.size()) return false;
    for (auto const& [link, queue] : links_)
      if (!queue.empty()) return false;
    return true;
  }

  Values const& held(int rank) const { return held_[index(rank)]; }
  Symbol tree() { return symbols_.tree(size_); }
  Plan const& plan(int rank) const { return plans_[index(rank)]; }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  void send(int rank, Round const& round) {
    if (sent_[index(rank)]) return;
    auto const& mine = held_[index(rank)];
    for (auto const& transfer : round.sends)
      links_[{rank, transfer.peer}].push_back(
          Message{transfer.range,
                  Values(mine.begin() + transfer.range.begin, mine.begin() + transfer.range.end)});
    sent_[index(rank)] = true;
  }

  bool all_arrived(int rank, Round const& round) {
    for (auto const& transfer : round.receives)
      if (links_[{transfer.peer, rank}].empty()) return false;
    return true;
  }

  Message take(int rank, Transfer const& transfer) {
    auto& queue = links_[{transfer.peer, rank}];
    auto message = std::move(queue.front());
    queue.pop_front();
    REQUIRE(message.range == transfer.range);
    return message;
  }

  void store(int rank, Round const& round) {
    for (auto const& transfer : round.receives) {
      auto const message = take(rank, transfer);
      std::copy(message.values.begin(), message.values.end(),
                held_[index(rank)].begin() + transfer.range.begin);
    }
  }

  void reduce(int rank, Round const& round) {
    auto& mine = held_[index(rank)];
    std::vector<Values> parties;
    for (auto const& transfer : round.receives) {
      REQUIRE(transfer.range == round.range);
      parties.push_back(take(rank, transfer).values);
    }
    parties.insert(parties.begin() + round.own,
                   Values(mine.begin() + round.range.begin, mine.begin() + round.range.end));
    for (std::int64_t i = 0; i < round.range.count(); ++i)
      mine[static_cast<std::size_t>(round.range.begin + i)] = tree_fold(
          0, static_cast<int>(parties.size()),
          [&](int party) { return parties[index(party)][static_cast<std::size_t>(i)]; },
          [&](Symbol a, Symbol b) { return symbols_.join(a, b); });
  }

  bool advance(int rank) {
    auto const& rounds = plans_[index(rank)].rounds;
    if (at_[index(rank)] == rounds.size()) return false;
    auto const& round = rounds[at_[index(rank)]];
    if (round.kind != RoundKind::relay) send(rank, round);
    if (!all_arrived(rank, round)) return false;
    if (round.kind == RoundKind::combine)
      reduce(rank, round);
    else
      store(rank, round);
    send(rank, round);
    sent_[index(rank)] = false;
    ++at_[index(rank)];
    return true;
  }

  int size_;
  Symbols symbols_;
  std::vector<Values> held_;
  std::vector<Plan> plans_;
  std::vector<std::size_t> at_;
  std::vector<bool> sent_;
  std::map<std::pair<int, int>, std::deque<Message>> links_;
};

std::vector<Values> own_everywhere(int size, std::int64_t count) {
  std::vector<Values> start;
  for (int rank = 0; rank < size; ++rank)
    start.emplace_back(static_cast<std::size_t>(count), Symbol{rank});
  return start;
}

std::vector<std::int64_t> uneven_counts(int size) {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back((rank * 7 + 3) % 5);
  return counts;
}

std::int64_t sum_of(std::vector<std::int64_t> const& counts) {
  std::int64_t total = 0;
  for (auto const count : counts) total += count;
  return total;
}

std::vector<Algorithm> all_reduce_algorithms(int size) {
  std::vector<Algorithm> fitting{Algorithm::one_shot, Algorithm::slices};
  if (size > 1 && is_power_of_two(size)) {
    fitting.push_back(Algorithm::recursive_doubling);
    fitting.push_back(Algorithm::halving_doubling);
  }
  return fitting;
}

PlanRequest request_of(OpKind kind, Algorithm algorithm, int size, std::int64_t count) {
  PlanRequest request;
  request.kind = kind;
  request.algorithm = algorithm;
  request.size = size;
  request.count = count;
  return request;
}

}  // namespace

TEST_CASE("every all_reduce plan sums each contribution once, in tree order, for worlds to 64") {
  for (int size = 1; size <= 64; ++size)
    for (auto const algorithm : all_reduce_algorithms(size))
      for (std::int64_t const count : {0, 1, 3, size + 5}) {
        INFO("size " << size << " count " << count << " algorithm " << int(algorithm));
        World world(request_of(OpKind::all_reduce, algorithm, size, count),
                    own_everywhere(size, count));
        REQUIRE(world.run());
        auto const expected = Values(static_cast<std::size_t>(count), world.tree());
        for (int rank = 0; rank < size; ++rank) REQUIRE(world.held(rank) == expected);
      }
}

TEST_CASE(
    "the reduction is marked complete exactly once for each element that a rank reduces last") {
  for (int size = 1; size <= 64; ++size)
    for (auto const algorithm : all_reduce_algorithms(size)) {
      World world(request_of(OpKind::all_reduce, algorithm, size, 100), own_everywhere(size, 100));
      for (int rank = 0; rank < size; ++rank) {
        int last = 0;
        for (auto const& round : world.plan(rank).rounds) last += round.last ? 1 : 0;
        REQUIRE(last == 1);
      }
    }
}

TEST_CASE("reduce_scatter gives each rank the tree sum of its slice, even and uneven") {
  for (int size = 1; size <= 64; ++size)
    for (bool const even : {true, false}) {
      INFO("size " << size << " even " << even);
      auto request = request_of(OpKind::reduce_scatter, Algorithm::slices, size, 2 * size);
      if (!even) {
        request.counts = uneven_counts(size);
        request.count = sum_of(request.counts);
      }
      World world(request, own_everywhere(size, request.count));
      REQUIRE(world.run());
      for (int rank = 0; rank < size; ++rank) {
        auto const slice = slice_of(request, rank);
        for (auto i = slice.begin; i < slice.end; ++i)
          REQUIRE(world.held(rank)[static_cast<std::size_t>(i)] == world.tree());
      }
    }
}

TEST_CASE("all_gather gives everybody each rank's slice, even and uneven") {
  for (int size = 1; size <= 64; ++size)
    for (bool const even : {true, false}) {
      INFO("size " << size << " even " << even);
      auto request = request_of(OpKind::all_gather, Algorithm::direct, size, 2 * size);
      if (!even) {
        request.counts = uneven_counts(size);
        request.count = sum_of(request.counts);
      }
      std::vector<Values> start(static_cast<std::size_t>(size),
                                Values(static_cast<std::size_t>(request.count), kNothing));
      Values expected;
      for (int rank = 0; rank < size; ++rank) {
        auto const slice = slice_of(request, rank);
        for (auto i = slice.begin; i < slice.end; ++i)
          start[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] = rank;
        expected.insert(expected.end(), static_cast<std::size_t>(slice.count()), Symbol{rank});
      }
      World world(request, start);
      REQUIRE(world.run());
      for (int rank = 0; rank < size; ++rank) REQUIRE(world.held(rank) == expected);
    }
}

TEST_CASE("broadcast gives everybody the root's elements, whoever the root is") {
  for (int size = 1; size <= 64; ++size)
    for (int const root : {0, size / 2, size - 1}) {
      INFO("size " << size << " root " << root);
      auto request = request_of(OpKind::broadcast, Algorithm::binomial, size, 3);
      request.root = root;
      World world(request, own_everywhere(size, 3));
      REQUIRE(world.run());
      for (int rank = 0; rank < size; ++rank) REQUIRE(world.held(rank) == Values(3, Symbol{root}));
    }
}

TEST_CASE("nobody leaves a barrier before everybody has come to it") {
  for (int size = 1; size <= 64; ++size) {
    INFO("size " << size);
    // Knowledge spreads along the messages: whoever is through must have heard of all.
    std::vector<std::set<int>> known(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) known[static_cast<std::size_t>(rank)] = {rank};
    auto request = request_of(OpKind::barrier, Algorithm::dissemination, size, 0);
    World world(request, own_everywhere(size, 0));
    REQUIRE(world.run());
    for (std::size_t round = 0; round < world.plan(0).rounds.size(); ++round) {
      auto const before = known;
      for (int rank = 0; rank < size; ++rank)
        for (auto const& transfer : world.plan(rank).rounds[round].receives)
          known[static_cast<std::size_t>(rank)].insert(
              before[static_cast<std::size_t>(transfer.peer)].begin(),
              before[static_cast<std::size_t>(transfer.peer)].end());
    }
    for (auto const& heard : known) REQUIRE(static_cast<int>(heard.size()) == size);
  }
}

TEST_CASE("the choice of an algorithm always fits the operation and the size") {
  for (int size = 1; size <= 64; ++size)
    for (std::int64_t const bytes : {0, 8, 4'096, 100'000, 30'000'000})
      for (auto const kind : {OpKind::broadcast, OpKind::all_reduce, OpKind::reduce_scatter,
                              OpKind::all_gather, OpKind::barrier}) {
        auto const algorithm = choose_algorithm(kind, size, bytes);
        World world(request_of(kind, algorithm, size, 4), own_everywhere(size, 4));
        REQUIRE(world.run());
      }
}
