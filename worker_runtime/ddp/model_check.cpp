// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/model_check.hpp"

#include "worker_runtime/comm/agree.hpp"
#include "worker_runtime/core/fingerprint.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace muster::worker {
namespace {

std::vector<std::string> lines_of(std::span<Param* const> params) {
  std::vector<std::string> lines;
  for (auto const* param : params) lines.push_back(describe(param->spec()));
  return lines;
}

std::vector<std::string> split_lines(std::string const& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    auto const end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// "parameter 3 is X, rank 0's is Y", of the first that differs.
Error first_difference(std::vector<std::string> const& mine,
                       std::vector<std::string> const& theirs) {
  auto const count = std::max(mine.size(), theirs.size());
  auto const at = [](std::vector<std::string> const& lines, std::size_t i) {
    return i < lines.size() ? "\"" + lines[i] + "\"" : std::string("missing");
  };
  std::size_t first = 0;
  while (first < count && at(mine, first) == at(theirs, first)) ++first;
  return Error{Errc::mismatch,
               "the models differ: parameter " + std::to_string(first) + " is " + at(mine, first) +
                   ", rank 0's is " + at(theirs, first) + " (" + std::to_string(mine.size()) +
                   " and " + std::to_string(theirs.size()) + " parameters)",
               "build the same model on every rank"};
}

}  // namespace

Result<void> check_same_model(ProcessGroup& group, std::span<Param* const> params) {
  auto const mine = lines_of(params);
  std::string text;
  for (auto const& line : mine) text += line + "\n";
  Fingerprint print;
  print.add(text);
  MUSTER_TRY(auto const prints, gather_numbers(group, static_cast<std::int64_t>(print.value())));
  if (std::all_of(prints.begin(), prints.end(), [&](auto each) { return each == prints[0]; }))
    return ok();
  MUSTER_TRY(auto const theirs, broadcast_text(group, text, 0));
  auto const rank = static_cast<std::size_t>(group.shape().rank);
  if (prints[rank] == prints[0]) return agree(group, ok());
  return agree(group, first_difference(mine, split_lines(theirs)));
}

Result<void> check_same_values(ProcessGroup& group, std::span<Param* const> params) {
  auto const count = static_cast<std::int64_t>(params.size());
  auto const mine = Tensor::zeros(Shape{count}, DType::i64);
  for (std::size_t i = 0; i < params.size(); ++i) {
    Fingerprint print;
    print.add(params[i]->value());
    mine.as<std::int64_t>()[i] = static_cast<std::int64_t>(print.value());
  }
  auto const all = Tensor::zeros(Shape{group.shape().size, count}, DType::i64);
  MUSTER_CHECK(all_gather(group, mine, all, {.site = "fingerprints of values"}).wait());
  auto const prints = all.as<std::int64_t>();
  for (std::size_t i = params.size(); i < prints.size(); ++i)
    if (auto const param = i % params.size(); prints[i] != prints[param])
      return Error{Errc::mismatch,
                   "rank " + std::to_string(i / params.size()) + " has other values in " +
                       params[param]->spec().name + " than rank 0",
                   "change parameters through the optimizer only, after finish()"};
  return ok();
}

}  // namespace muster::worker
