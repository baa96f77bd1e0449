// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/split_choices.hpp"

#include <algorithm>

namespace muster::worker {

Result<std::vector<SplitChoice>> exchange_choices(ProcessGroup& group, int color, int key) {
  auto const size = group.shape().size;
  std::int32_t const mine[] = {color, key};
  auto const in = Tensor::of<std::int32_t>(Shape{2}, std::span<std::int32_t const>(mine));
  auto const out = Tensor::zeros(Shape{2 * size}, DType::i32);
  CallOptions options;
  options.site = "split";
  MUSTER_CHECK(all_gather(group, in, out, options).wait());
  auto const values = out.as<std::int32_t>();
  std::vector<SplitChoice> choices;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank)
    choices.push_back(SplitChoice{values[2 * rank], values[2 * rank + 1]});
  return choices;
}

std::vector<int> members_of(std::vector<SplitChoice> const& choices, int color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].color == color) members.push_back(static_cast<int>(rank));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return members;
}

}  // namespace muster::worker
