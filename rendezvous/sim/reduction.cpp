// SPDX-License-Identifier: Apache-2.0
// Summaries, carried from a state to the one before it.

#include "rendezvous/sim/reduction.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

std::uint64_t bit(std::size_t place) {
  return place < 64 ? std::uint64_t{1} << place : 0;
}

Heads head_bit(std::size_t head) {
  return head < kMostHeads ? bit(head) : 0;
}

// Where the heads of the later state come from.
struct Descent {
  std::vector<Heads> before;  // the earlier state's head that is the same
  Heads due_to_it = 0;        // sent by the event, or behind it in its channel
};

Descent descent_of(Passage const& passage) {
  Descent descent;
  for (std::size_t i = 0; i < passage.to.size() && i < kMostHeads; ++i) {
    auto const same = std::find_if(passage.from.begin(), passage.from.end(), [&](Head const& head) {
      return head.origin == passage.to[i].origin;
    });
    auto const place = static_cast<std::size_t>(same - passage.from.begin());
    auto const is_new = same == passage.from.end() || place == passage.head;
    descent.before.push_back(is_new ? 0 : head_bit(place));
    if (is_new) descent.due_to_it |= head_bit(i);
  }
  return descent;
}

}  // namespace

// Whoever has fewer causes is in conflict wherever the other one is.
void merge(Summary& summary, Below const& one) {
  auto const covers = [](Below const& a, Below const& b) {
    return a.touch == b.touch && a.owner == b.owner && a.channel == b.channel &&
           (a.acted & ~b.acted) == 0 && (a.heads & ~b.heads) == 0;
  };
  for (auto const& known : summary)
    if (covers(known, one)) return;
  std::erase_if(summary, [&](Below const& known) { return covers(one, known); });
  summary.push_back(one);
}

Summary general(Summary summary, ConnectionNames const& names) {
  for (auto& one : summary) one.channel = general(one.channel, names);
  return summary;
}

Summary particular(Summary summary, ConnectionNames const& names) {
  for (auto& one : summary) one.channel = particular(one.channel, names);
  return summary;
}

Summary anything() {
  return {Below{}};
}

Review review(Passage const& passage, Summary const& below) {
  Review review;
  auto const descent = descent_of(passage);
  auto const owner = passage.from[passage.head].owner;
  auto const channel = passage.from[passage.head].origin;
  auto const own = owner == kNoNode ? 0 : bit(owner);
  for (auto one : below) {
    auto follows = (one.heads & descent.due_to_it) != 0 || (one.acted & own) != 0 ||
                   (one.channel != Origin{} && one.channel == channel);
    Heads heads = 0;
    for (std::size_t i = 0; i < descent.before.size(); ++i)
      if (one.heads & bit(i)) heads |= descent.before[i];
    if (!follows && in_conflict(passage.touches, {one.touch})) review.conflicts.push_back({heads});
    follows = follows || (owner != kNoNode && one.owner == owner);
    if (follows) {
      heads |= head_bit(passage.head);
      one.acted |= own;
    }
    one.heads = heads;
    merge(review.summary, one);
  }
  for (auto const& touch : passage.touches)
    merge(review.summary, {touch, owner, channel, 0, head_bit(passage.head)});
  return review;
}

}  // namespace muster::sim
