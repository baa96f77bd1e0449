// SPDX-License-Identifier: Apache-2.0
#pragma once
// Virtual time, chance, and what comes next. Equal moments happen in the order in which they were
// planned.

#include "rendezvous/base/random.hpp"
#include "rendezvous/sim/happening.hpp"

#include <algorithm>
#include <vector>

namespace muster::sim {

inline constexpr TimePoint kBegin{std::chrono::seconds{1'000}};

struct Due {
  TimePoint at;
  std::uint64_t number = 0;
  Happening what;
};

class Agenda {
 public:
  // `exact`: nothing is drawn; what may happen by chance does not, what may take longer does not.
  Agenda(std::uint64_t seed, bool exact) : random_(seed), exact_(exact) {}

  TimePoint moment() const { return now_; }
  void plan(Duration after, Happening what);
  bool empty() const { return heap_.empty(); }
  TimePoint next_at() const { return heap_.front().at; }
  // Takes the next one; it is then.
  Happening take();

  void go_on();  // it is as late as the next one is due; nothing happens yet

  // In no order; for those who choose for themselves what comes next.
  std::vector<Due> const& pending() const { return heap_; }
  // Takes this one; it is then, or still now if that is later.
  Happening take_number(std::uint64_t number);
  template <class Judge>
  void drop_if(Judge judge);
  // Takes what is due out of the plan, in the order in which it was planned.
  template <class Judge, class Taker>
  void take_if(Judge judge, Taker take);

  // Nothing is drawn where there is no choice.
  bool chance(double probability) {
    return probability > 0 && !exact_ && random_.unit() < probability;
  }
  Duration up_to(Duration most);
  Duration between(Duration least, Duration most) { return least + up_to(most - least); }
  std::uint64_t below(std::uint64_t bound) {
    return bound < 2 || exact_ ? 0 : random_.below(bound);
  }

 private:
  void restore();

  TimePoint now_ = kBegin;
  std::vector<Due> heap_;
  std::uint64_t numbers_ = 0;
  Random random_;
  bool exact_;
};

template <class Judge, class Taker>
void Agenda::take_if(Judge judge, Taker take) {
  std::vector<Due> taken;
  for (auto& due : heap_)
    if (judge(due.what)) taken.push_back(due);
  std::sort(taken.begin(), taken.end(),
            [](Due const& a, Due const& b) { return a.number < b.number; });
  drop_if(judge);
  for (auto& due : taken) take(std::move(due.what));
}

template <class Judge>
void Agenda::drop_if(Judge judge) {
  if (std::erase_if(heap_, [&](Due const& due) { return judge(due.what); }) > 0) restore();
}

}  // namespace muster::sim
