// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace muster {

void assertion_failed(char const* condition, char const* text, char const* file, int line) {
  std::fprintf(stderr, "muster: bug: %s: %s, at %s:%d (please report this line)\n", text, condition,
               file, line);
  std::abort();
}

}  // namespace muster
