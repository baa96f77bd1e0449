// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/load.hpp"

#include "rendezvous/base/log.hpp"
#include "worker_runtime/checkpoint/checksum.hpp"
#include "worker_runtime/checkpoint/directory.hpp"
#include "worker_runtime/checkpoint/manifest.hpp"
#include "worker_runtime/comm/agree.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace muster::worker {
namespace {

constexpr std::uint64_t kMaxManifestBytes = 1ULL << 30;  // a hundred bytes a tensor

Error corrupt(std::string const& path, std::string const& seen) {
  return Error{Errc::corrupt, path + ": " + seen, "use an earlier checkpoint"};
}

Error mismatch(std::string const& path, std::string const& seen) {
  return Error{Errc::mismatch, path + ": " + seen,
               "load it into the model it was saved from, or start in another folder"};
}

// A file whose size and checksum are the manifest's.
Result<std::string> read_verified(std::string const& folder, ManifestFile const& file) {
  auto const path = folder + "/" + file.name;
  auto bytes = read_file(path, file.bytes);
  if (!bytes && bytes.error().code == Errc::not_found) return corrupt(path, "is missing");
  if (!bytes) return bytes;
  if (bytes->size() != file.bytes)
    return corrupt(path, std::to_string(bytes->size()) + " bytes, the manifest says " +
                             std::to_string(file.bytes));
  if (crc32_of(*bytes) != file.crc32) return corrupt(path, "its checksum is wrong");
  return bytes;
}

using Files = std::map<std::string, std::string>;  // by name, verified

Result<Files> read_all(std::string const& folder, Manifest const& manifest) {
  Files files;
  for (auto const& file : manifest.files) {
    MUSTER_TRY(auto bytes, read_verified(folder, file));
    files.emplace(file.name, std::move(bytes));
  }
  return files;
}

// Copies one chunk, a box of the tensor, to its place. Sizes were checked with the manifest.
void copy_chunk(ManifestChunk const& chunk, std::string const& file, Tensor const& into) {
  auto const width = bytes_of(into.dtype);
  auto const dims = into.shape.dims();
  auto const* from = file.data() + chunk.begin;
  auto const run = dims == 0 ? std::int64_t{1} : chunk.sizes[dims - 1];
  auto const run_bytes = static_cast<std::size_t>(run) * width;
  if (chunk.begin == chunk.end) return;
  std::vector<std::int64_t> at(dims, 0);  // the run's place in the chunk
  for (;;) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < dims; ++d)
      element = element * into.shape[d] + chunk.offsets[d] + at[d];
    std::memcpy(into.data() + static_cast<std::size_t>(element) * width, from, run_bytes);
    from += run_bytes;
    auto d = static_cast<std::ptrdiff_t>(dims) - 2;
    for (; d >= 0; --d) {
      auto const i = static_cast<std::size_t>(d);
      if (++at[i] < chunk.sizes[i]) break;
      at[i] = 0;
    }
    if (d < 0) return;
  }
}

Result<void> fill(std::vector<NamedTensor> const& wanted, std::vector<ManifestTensor> const& stored,
                  Files const& files, std::string const& path) {
  std::map<std::string, ManifestTensor const*> by_name;
  for (auto const& tensor : stored) by_name.emplace(tensor.name, &tensor);
  for (auto const& [name, tensor] : wanted) {
    auto const found = by_name.find(name);
    if (found == by_name.end()) return mismatch(path, "holds no tensor " + name);
    auto const& saved = *found->second;
    if (saved.dtype != tensor.dtype || saved.shape != tensor.shape)
      return mismatch(path, "tensor " + name + " is " + std::string(name_of(saved.dtype)) + " " +
                                to_string(saved.shape) + ", the program's is " +
                                std::string(name_of(tensor.dtype)) + " " + to_string(tensor.shape));
    for (auto const& chunk : saved.chunks) copy_chunk(chunk, files.at(chunk.file), tensor);
    by_name.erase(found);
  }
  if (!by_name.empty())
    return mismatch(path, "holds tensor " + by_name.begin()->first + ", which the program has not");
  return ok();
}

// Rank 0's part: everything from the disk into the state's tensors.
Result<Loaded> read_into(TrainState& state, std::string const& path) {
  auto const manifest_path = path + "/" + kManifestName;
  auto const text = read_file(manifest_path, kMaxManifestBytes);
  if (!text && text.error().code == Errc::not_found)
    return Error{Errc::not_found, path + ": no complete checkpoint (" + kManifestName + " missing)",
                 "name a step-NNNNNNNN folder, or the folder above to take the newest"};
  if (!text) return text.error();
  MUSTER_TRY(auto const manifest, parse_manifest(*text, manifest_path));
  MUSTER_TRY(auto const files, read_all(path, manifest));
  auto const trainer = files.find(kTrainerName);
  if (trainer == files.end()) return corrupt(path, "its manifest names no trainer.json");
  MUSTER_TRY(auto parsed, parse_trainer_state(trainer->second, path + "/" + kTrainerName));
  if (parsed.step != manifest.step) return corrupt(path, "trainer.json is of another step");
  MUSTER_CHECK(fill(state.model, manifest.model, files, path));
  if (manifest.fingerprint != fingerprint_of(state.model))
    return corrupt(path, "its fingerprint is not that of its tensors");
  MUSTER_CHECK(fill(state.optimizer, manifest.optimizer, files, path));
  state.trainer = std::move(parsed);
  return Loaded{path, true, manifest.world, {}};
}

Result<Loaded> read_latest_into(TrainState& state, std::string const& root) {
  MUSTER_TRY(auto const steps, list_steps(root));
  std::vector<std::string> skipped;
  Error last;
  for (auto const& [step, path] : steps) {
    auto loaded = read_into(state, path);
    if (loaded) {
      loaded->skipped = std::move(skipped);
      return loaded;
    }
    last = loaded.error();
    if (last.code != Errc::corrupt) return last;
    auto const renamed = set_aside(path);
    log::warning("checkpoint: " + to_string(last) + "; taking the one before; " +
                 (renamed ? "this one is now " + path + ".bad" : to_string(renamed.error())));
    skipped.push_back(path);
  }
  if (!skipped.empty())
    return Error{Errc::corrupt, "no checkpoint under " + root + " can be read; " + last.what,
                 "start afresh in another folder"};
  return Loaded{root, false, 0, {}};
}

// What rank 0 now has, to all others.
Result<Loaded> share(ProcessGroup& group, TrainState& state, Result<Loaded> mine) {
  auto text = to_json(state.trainer);
  if (group.shape().rank == 0 && mine && !text) mine = text.error();
  MUSTER_CHECK(agree(group, mine ? Result<void>() : Result<void>(mine.error())));
  MUSTER_TRY(auto const world, broadcast_text(group, std::to_string(mine->saved_world), 0));
  MUSTER_TRY(mine->path, broadcast_text(group, mine->path, 0));
  mine->saved_world = std::stoi(world);
  mine->found = mine->saved_world > 0;
  if (!mine->found) return mine;
  MUSTER_TRY(auto const said, broadcast_text(group, text ? *text : "", 0));
  MUSTER_TRY(state.trainer, parse_trainer_state(said, "rank 0's trainer state"));
  for (auto const* tensors : {&state.model, &state.optimizer})
    for (auto const& [name, tensor] : *tensors)
      if (!tensor.empty()) MUSTER_CHECK(broadcast(group, tensor, 0, {.site = "checkpoint"}).wait());
  return mine;
}

}  // namespace

Result<Loaded> load_latest(ProcessGroup& group, TrainState& state, std::string const& root) {
  Result<Loaded> mine = Loaded{};
  if (group.shape().rank == 0) mine = read_latest_into(state, root);
  return share(group, state, std::move(mine));
}

Result<Loaded> load(ProcessGroup& group, TrainState& state, std::string const& path) {
  Result<Loaded> mine = Loaded{};
  if (group.shape().rank == 0) mine = read_into(state, path);
  return share(group, state, std::move(mine));
}

}  // namespace muster::worker
