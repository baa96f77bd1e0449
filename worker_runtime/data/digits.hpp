// SPDX-License-Identifier: Apache-2.0
#pragma once
// MNIST's pair of IDX files as one data set: images beside labels, checked against each other.
// Loaded whole; read-only afterwards, so any thread may make batches.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/tensor.hpp"
#include "worker_runtime/data/loader.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace muster::worker {

struct Digits {
  Tensor images;  // u8 [n, rows, columns]
  Tensor labels;  // u8 [n], each below 10

  std::int64_t size() const { return labels.elements(); }
  std::int64_t pixels() const { return images.shape[1] * images.shape[2]; }
};

enum class Split : std::uint8_t { train, test };

// From folder/{train,t10k}-images-idx3-ubyte[.gz] and its labels. Errors name the file.
Result<Digits> load_digits(std::string const& folder, Split split);

// Grey values as floats in [0, 1], one image a row; labels as i64.
Batch batch_of(Digits const& digits, std::span<std::int64_t const> rows);

}  // namespace muster::worker
