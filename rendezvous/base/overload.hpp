// SPDX-License-Identifier: Apache-2.0
#pragma once
// Overload{f, g, ...}: one function object out of several lambdas, for std::visit.

namespace muster {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace muster
