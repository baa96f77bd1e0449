// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/save.hpp"

#include "rendezvous/base/log.hpp"
#include "worker_runtime/checkpoint/checksum.hpp"
#include "worker_runtime/checkpoint/directory.hpp"
#include "worker_runtime/checkpoint/manifest.hpp"
#include "worker_runtime/comm/agree.hpp"
#include "worker_runtime/core/fingerprint.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

namespace muster::worker {
namespace {

constexpr char kModelFile[] = "shard-00001-model-00001-of-00001.safetensors";
constexpr char kOptimizerFile[] = "shard-00001-optim-00001-of-00001.safetensors";

std::string_view view_of(Tensor const& tensor) {
  if (tensor.empty()) return {};
  return {reinterpret_cast<char const*>(tensor.data()), tensor.bytes()};
}

// The header keys by which torch.distributed.checkpoint's reader of this format knows a shard's
// place (torch/distributed/checkpoint/_hf_utils.py).
std::map<std::string, std::string> shard_metadata(std::span<NamedTensor const> tensors) {
  auto offsets = nlohmann::json::object();
  for (auto const& [name, tensor] : tensors)
    offsets[name] = {{"saved_offsets", std::vector<int>(tensor.shape.dims(), 0)}};
  return {{"format", "pt"}, {"DCP_VERSION", "1.0"}, {"DCP_SHARDING_INFO", offsets.dump()}};
}

// Writes one safetensors file and notes it, with its tensors, in the manifest.
Result<void> write_shard(std::string const& folder, std::string const& file,
                         std::span<NamedTensor const> tensors, Manifest& manifest,
                         std::vector<ManifestTensor>& noted) {
  auto const plan = plan_safetensors(tensors, shard_metadata(tensors));
  std::vector<std::string_view> pieces{plan.head};
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const bytes = view_of(tensors[plan.order[i]].tensor);
    auto const& entry = plan.entries[i];
    auto const sizes = entry.shape.sizes();
    ManifestChunk chunk{std::vector<std::int64_t>(sizes.size(), 0),
                        {sizes.begin(), sizes.end()},
                        file,
                        entry.begin,
                        entry.end,
                        crc32_of(bytes)};
    pieces.push_back(bytes);
    noted.push_back({entry.name, entry.dtype, entry.shape, {std::move(chunk)}});
  }
  MUSTER_TRY(auto const written, write_synced(folder + "/" + file, pieces));
  manifest.files.push_back({file, written.bytes, written.crc32});
  return ok();
}

Result<std::uint64_t> write_all(std::string const& folder, TrainState const& state, int world) {
  Manifest manifest;
  manifest.world = world;
  manifest.step = state.trainer.step;
  manifest.round = state.trainer.round;
  manifest.fingerprint = fingerprint_of(state.model);
  MUSTER_CHECK(write_shard(folder, kModelFile, state.model, manifest, manifest.model));
  MUSTER_CHECK(write_shard(folder, kOptimizerFile, state.optimizer, manifest, manifest.optimizer));
  MUSTER_TRY(auto const trainer, to_json(state.trainer));
  std::string_view const trainer_piece = trainer;
  MUSTER_TRY(auto const noted, write_synced(folder + "/" + kTrainerName, {&trainer_piece, 1}));
  manifest.files.push_back({kTrainerName, noted.bytes, noted.crc32});
  auto const text = to_json(manifest);
  std::string_view const piece = text;
  MUSTER_TRY(auto const last, write_synced(folder + "/" + kManifestName, {&piece, 1}));
  std::uint64_t bytes = last.bytes;
  for (auto const& file : manifest.files) bytes += file.bytes;
  return bytes;
}

// Everything short of the rename that commits.
Result<Saved> write_aside(TrainState const& state, std::string const& root, int world) {
  auto const nonce = static_cast<std::uint64_t>(::getpid());
  MUSTER_TRY(auto const aside, begin_step(root, state.trainer.step, nonce));
  auto const bytes = write_all(aside, state, world);
  if (!bytes) {
    discard_step(aside);
    return bytes.error();
  }
  return Saved{aside, *bytes};
}

// Ranks at different steps, or with other tensors, must not write one checkpoint together.
Result<void> check_same(ProcessGroup& group, TrainState const& state) {
  Fingerprint print;
  print.add_sized(fingerprint_of(state.model));
  print.add_sized(fingerprint_of(state.optimizer));
  print.add(state.trainer.step);
  print.add(state.trainer.epoch);
  MUSTER_TRY(auto const all, gather_numbers(group, static_cast<std::int64_t>(print.value())));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return Error{Errc::mismatch,
                   "checkpoint: rank " + std::to_string(rank) +
                       " saves another step, or other tensors, than rank 0",
                   "call save() on all ranks after the same step"};
  return ok();
}

Result<void> outcome_of(Result<Saved> const& saved) {
  if (saved) return ok();
  return saved.error();
}

}  // namespace

Result<Saved> save(ProcessGroup& group, TrainState const& state, std::string const& root,
                   SaveOptions options) {
  auto const shape = group.shape();
  MUSTER_CHECK(check_same(group, state));
  Result<Saved> mine = Saved{};
  if (shape.rank == 0) mine = write_aside(state, root, shape.size);
  auto const all_wrote = agree(group, outcome_of(mine));
  if (!all_wrote) {  // somebody else failed: what is written aside must not stay
    if (shape.rank == 0 && mine) discard_step(mine->path);
    return Error{all_wrote.error().code, "checkpoint not saved: " + all_wrote.error().what,
                 all_wrote.error().hint};
  }
  if (shape.rank == 0) {
    auto const published = publish_step(root, mine->path, state.trainer.step);
    if (published) {
      mine->path = *published;
    } else {
      discard_step(mine->path);
      mine = published.error();
    }
  }
  MUSTER_CHECK(agree(group, outcome_of(mine)));
  if (shape.rank == 0 && options.keep > 0)
    if (auto const kept = keep_newest(root, options.keep); !kept)
      log::warning("checkpoint: an old one stays: " + to_string(kept.error()));
  MUSTER_TRY(auto path, broadcast_text(group, mine->path, 0));
  return Saved{std::move(path), mine->bytes};
}

}  // namespace muster::worker
