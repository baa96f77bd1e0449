// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one order of summation: a binary tree over rank indices, split at the largest power of two
// below the number of parties. Every algorithm and every transport gives these bits; tests and
// single-process references use the same function.

#include <utility>

namespace muster::worker {

// Parties on the left of a tree of n >= 2: 2 -> 1, 3 -> 2, 4 -> 2, 5 -> 4, 8 -> 4, 9 -> 8.
constexpr int tree_split(int n) {
  int left = 1;
  while (left * 2 < n) left *= 2;
  return left;
}
static_assert(tree_split(2) == 1 && tree_split(3) == 2 && tree_split(4) == 2);
static_assert(tree_split(5) == 4 && tree_split(8) == 4 && tree_split(9) == 8);

// leaf(i) of parties [first, first + n), joined as join(left, right) in tree order. n >= 1.
template <class Leaf, class Join>
auto tree_fold(int first, int n, Leaf const& leaf, Join const& join)
    -> decltype(leaf(std::declval<int>())) {
  if (n == 1) return leaf(first);
  auto const left = tree_split(n);
  auto low = tree_fold(first, left, leaf, join);
  auto high = tree_fold(first + left, n - left, leaf, join);
  return join(std::move(low), std::move(high));
}

}  // namespace muster::worker
