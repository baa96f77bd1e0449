// SPDX-License-Identifier: Apache-2.0
#pragma once
// MUSTER_KERNEL before a function: compiled for AVX-512, AVX2 and the baseline, chosen at load
// time. All versions give the same bits, since kernels round each operation once
// (-ffp-contract=off) and never reorder sums. Not under sanitizers, whose runtime is not up when
// the loader chooses.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MUSTER_KERNEL __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MUSTER_KERNEL
#endif
