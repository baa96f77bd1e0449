// SPDX-License-Identifier: Apache-2.0
#pragma once
// manifest.json: what a checkpoint consists of. Tensors are described by global offsets only, so
// that any number of ranks reads what any number wrote; one that covers a tensor twice or not at
// all is refused. Pure: text in, text out.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::worker {

inline constexpr int kCheckpointFormat = 1;

struct ManifestChunk {
  std::vector<std::int64_t> offsets, sizes;  // a box of the whole tensor
  std::string file;
  std::uint64_t begin = 0, end = 0;  // bytes of the file
  std::uint32_t crc32 = 0;           // of those bytes
};

struct ManifestTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<ManifestChunk> chunks;
};

struct ManifestFile {
  std::string name;  // in the checkpoint's folder
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
};

struct Manifest {
  int format = kCheckpointFormat;
  int world = 1;  // ranks that saved
  std::uint64_t step = 0;
  std::uint64_t round = 0;  // muster's round that saved
  std::string fingerprint;  // of the model's names, types and shapes
  std::vector<ManifestTensor> model, optimizer;
  std::vector<ManifestFile> files;
};

std::string to_json(Manifest const& manifest);

// Checked whole: known files, boxes inside their tensors, every element covered exactly once.
// Errors name `name`.
Result<Manifest> parse_manifest(std::string_view text, std::string const& name);

}  // namespace muster::worker
