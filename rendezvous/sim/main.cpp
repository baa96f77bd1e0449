// SPDX-License-Identifier: Apache-2.0
// muster simulate: one history told, or many summed up.

#include "rendezvous/sim/options.hpp"
#include "rendezvous/sim/report.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  using namespace muster::sim;
  auto const parsed = parse(argc, argv);
  if (auto const* exit = std::get_if<Exit>(&parsed)) return exit->code;
  auto const& options = std::get<Options>(parsed);
  auto const plan_of = [&options](std::uint64_t seed) { return plan_for(options, seed); };
  auto const telling = options.trace ? Telling::everything : Telling::what_matters;
  auto const report = options.seeds > 1 ? report_many(options.seed, options.seeds, plan_of)
                                        : report_one(options.seed, plan_of(options.seed), telling);
  std::fputs(report.text.c_str(), stdout);
  return report.exit_code;
}
