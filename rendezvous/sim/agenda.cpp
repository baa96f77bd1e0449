// SPDX-License-Identifier: Apache-2.0
// A heap by time, then by number.

#include "rendezvous/sim/agenda.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

bool is_later(Due const& a, Due const& b) {
  return a.at != b.at ? a.at > b.at : a.number > b.number;
}

}  // namespace

void Agenda::plan(Duration after, Happening what) {
  heap_.push_back({now_ + std::max(after, Duration::zero()), ++numbers_, std::move(what)});
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

void Agenda::go_on() {
  now_ = std::max(now_, next_at());
}

Happening Agenda::take() {
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  now_ = std::max(now_, heap_.back().at);
  auto what = std::move(heap_.back().what);
  heap_.pop_back();
  return what;
}

Happening Agenda::take_number(std::uint64_t number) {
  auto const found = std::find_if(heap_.begin(), heap_.end(),
                                  [number](Due const& due) { return due.number == number; });
  now_ = std::max(now_, found->at);
  auto what = std::move(found->what);
  heap_.erase(found);
  restore();
  return what;
}

void Agenda::restore() {
  std::make_heap(heap_.begin(), heap_.end(), is_later);
}

Duration Agenda::up_to(Duration most) {
  if (most <= Duration::zero() || exact_) return Duration::zero();
  return Duration{
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

}  // namespace muster::sim
