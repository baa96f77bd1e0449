// SPDX-License-Identifier: Apache-2.0
// Reads torchrun's round states, one value a line, and writes each as muster does.
#include "rendezvous/torchrun/round_state.hpp"

#include <iostream>

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    auto const state = muster::torchrun::decode_state(line);
    if (!state || !*state) {
      std::cerr << (state ? "no state yet" : to_string(state.error())) << "\n";
      return 1;
    }
    std::cout << muster::torchrun::encode_state(**state) << "\n";
  }
  return 0;
}
