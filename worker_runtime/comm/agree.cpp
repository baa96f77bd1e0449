// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/agree.hpp"

#include <algorithm>
#include <cstring>

namespace muster::worker {
namespace {

constexpr std::int64_t kFine = -1;

Tensor bytes_of_text(std::string const& text) {
  auto tensor = Tensor::zeros(Shape{static_cast<std::int64_t>(text.size())}, DType::u8);
  if (!text.empty()) std::memcpy(tensor.data(), text.data(), text.size());
  return tensor;
}

}  // namespace

Result<std::vector<std::int64_t>> gather_numbers(ProcessGroup& group, std::int64_t mine) {
  auto const in = Tensor::zeros(Shape{1}, DType::i64);
  in.as<std::int64_t>()[0] = mine;
  auto const out = Tensor::zeros(Shape{group.shape().size}, DType::i64);
  MUSTER_CHECK(all_gather(group, in, out, {.site = "gather of numbers"}).wait());
  auto const all = out.as<std::int64_t>();
  return std::vector<std::int64_t>(all.begin(), all.end());
}

Result<std::string> broadcast_text(ProcessGroup& group, std::string const& mine, int root) {
  auto const length = Tensor::zeros(Shape{1}, DType::i64);
  length.as<std::int64_t>()[0] = static_cast<std::int64_t>(mine.size());
  MUSTER_CHECK(broadcast(group, length, root, {.site = "length of a text"}).wait());
  auto text = mine;
  text.resize(static_cast<std::size_t>(length.as<std::int64_t>()[0]));
  if (text.empty()) return text;
  auto const bytes = bytes_of_text(text);
  MUSTER_CHECK(broadcast(group, bytes, root, {.site = "a text"}).wait());
  std::memcpy(text.data(), bytes.data(), text.size());
  return text;
}

Result<void> agree(ProcessGroup& group, Result<void> const& mine) {
  auto const code = mine ? kFine : static_cast<std::int64_t>(mine.error().code);
  MUSTER_TRY(auto const codes, gather_numbers(group, code));
  auto const first =
      std::find_if(codes.begin(), codes.end(), [](std::int64_t each) { return each != kFine; });
  if (first == codes.end()) return ok();
  auto const rank = static_cast<int>(first - codes.begin());
  MUSTER_TRY(auto const what, broadcast_text(group, mine ? "" : mine.error().what, rank));
  MUSTER_TRY(auto const hint, broadcast_text(group, mine ? "" : mine.error().hint, rank));
  auto const prefix = group.shape().size == 1 ? "" : "rank " + std::to_string(rank) + ": ";
  return Error{static_cast<Errc>(*first), prefix + what, hint};
}

}  // namespace muster::worker
