// SPDX-License-Identifier: Apache-2.0
#pragma once
// MUSTER_ASSERT(condition, text): a broken invariant of our own. On in every build; prints and
// aborts. Never for input.

namespace muster {
[[noreturn]] void assertion_failed(char const* condition, char const* text, char const* file,
                                   int line);
}

#define MUSTER_ASSERT(condition, text) \
  ((condition) ? void(0) : ::muster::assertion_failed(#condition, text, __FILE__, __LINE__))
