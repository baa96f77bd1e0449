// SPDX-License-Identifier: Apache-2.0
// manifest.json and trainer.json: what is accepted is written back to the same text and meaning.
#include "rendezvous/base/assert.hpp"
#include "worker_runtime/checkpoint/manifest.hpp"
#include "worker_runtime/checkpoint/trainer_state.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::worker;
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  if (auto const manifest = parse_manifest(text, "fuzz")) {
    auto const again = parse_manifest(to_json(*manifest), "fuzz");
    MUSTER_ASSERT(again && to_json(*again) == to_json(*manifest), "a manifest is stable");
  }
  if (auto const trainer = parse_trainer_state(text, "fuzz")) {
    auto const written = to_json(*trainer);
    MUSTER_ASSERT(written && *parse_trainer_state(*written, "fuzz") == *trainer,
                  "a trainer's state is stable");
  }
  return 0;
}
