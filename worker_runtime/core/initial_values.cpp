// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/initial_values.hpp"

#include "worker_runtime/core/philox.hpp"

#include <algorithm>

namespace muster::worker {
namespace {

void fill_uniform(ParamSpec const& spec, std::uint64_t seed, std::uint64_t begin,
                  std::span<float> out) {
  PhiloxStream const stream(seed, spec.name);
  auto const width = spec.init.high - spec.init.low;
  PhiloxBlock block{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto const element = begin + i;
    if (i == 0 || element % 4 == 0) block = stream.words(element / 4);
    out[i] = spec.init.low + width * unit_float(block[element % 4]);
  }
}

}  // namespace

void fill_initial(ParamSpec const& spec, std::uint64_t seed, std::int64_t begin,
                  std::span<float> out) {
  MUSTER_ASSERT(
      begin >= 0 && begin + static_cast<std::int64_t>(out.size()) <= spec.shape.elements(),
      "a range to initialise lies inside its parameter");
  switch (spec.init.kind) {
    case Init::Kind::constant:
      std::fill(out.begin(), out.end(), spec.init.low);
      return;
    case Init::Kind::uniform:
      fill_uniform(spec, seed, static_cast<std::uint64_t>(begin), out);
      return;
  }
}

}  // namespace muster::worker
