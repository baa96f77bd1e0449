// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/digits.hpp"

#include "worker_runtime/data/idx.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace muster::worker {
namespace {

constexpr int kClasses = 10;

Result<Tensor> read_named(std::string const& folder, std::string const& name, std::size_t dims) {
  auto const plain = std::filesystem::path(folder) / name;
  std::error_code ignored;  // a file that cannot be looked at is reported by opening it
  for (auto const* ending : {"", ".gz"}) {
    auto const path = plain.string() + ending;
    if (!std::filesystem::exists(path, ignored)) continue;
    MUSTER_TRY(auto tensor, read_idx(path));
    if (tensor.shape.dims() != dims)
      return Error{Errc::corrupt,
                   path + ": " + std::to_string(tensor.shape.dims()) + " dimensions, " +
                       std::to_string(dims) + " expected",
                   "images and labels may have been exchanged"};
    return tensor;
  }
  return Error{Errc::not_found, plain.string() + "[.gz]: no such file",
               "name a folder with MNIST's four IDX files"};
}

}  // namespace

Result<Digits> load_digits(std::string const& folder, Split split) {
  auto const stem = std::string(split == Split::train ? "train" : "t10k");
  MUSTER_TRY(auto images, read_named(folder, stem + "-images-idx3-ubyte", 3));
  MUSTER_TRY(auto labels, read_named(folder, stem + "-labels-idx1-ubyte", 1));
  auto const named = folder + " (" + stem + ")";
  if (images.shape[0] != labels.shape[0] || labels.empty() || images.empty())
    return Error{Errc::corrupt,
                 named + ": " + std::to_string(images.shape[0]) + " images and " +
                     std::to_string(labels.shape[0]) + " labels",
                 "images and labels must come from one data set"};
  auto const values = labels.as<std::uint8_t>();
  auto const wrong = std::find_if(values.begin(), values.end(),
                                  [](std::uint8_t label) { return label >= kClasses; });
  if (wrong != values.end())
    return Error{Errc::corrupt,
                 named + ": label " + std::to_string(*wrong) + " of sample " +
                     std::to_string(wrong - values.begin()) + "; digits are 0 to 9",
                 ""};
  return Digits{std::move(images), std::move(labels)};
}

Batch batch_of(Digits const& digits, std::span<std::int64_t const> rows) {
  auto const count = static_cast<std::int64_t>(rows.size());
  auto const pixels = digits.pixels();
  Batch batch{Tensor::zeros(Shape{count, pixels}),
              Tensor::zeros(Shape{count}, DType::i64),
              {rows.begin(), rows.end()},
              0};
  auto const grey = batch.inputs.as<float>();
  auto const targets = batch.targets.as<std::int64_t>();
  auto const images = digits.images.as<std::uint8_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const width = static_cast<std::size_t>(pixels);
    auto const image = images.subspan(static_cast<std::size_t>(rows[i]) * width, width);
    std::transform(image.begin(), image.end(),
                   grey.begin() + static_cast<std::ptrdiff_t>(i * width),
                   [](std::uint8_t value) { return static_cast<float>(value) / 255.0F; });
    targets[i] = digits.labels.as<std::uint8_t>()[static_cast<std::size_t>(rows[i])];
  }
  return batch;
}

}  // namespace muster::worker
