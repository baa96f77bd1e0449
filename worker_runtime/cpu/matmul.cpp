// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/matmul.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <pthread.h>
#include <string>
#include <utility>

namespace muster::worker::cpu {
namespace {

using Strides = std::array<std::int64_t, 2>;

// A block of a product, with the strides of the whole matrices.
struct Block {
  std::int64_t m, n, k;
  Strides a, b, c;
  bool accumulate;
  auto operator<=>(Block const&) const = default;
};

// oneDNN computes with as many threads as OpenMP would give the calling thread. Here it must be
// one: the setting is the thread's own, so it is put back afterwards for the program's sake. The
// OpenMP runtime is the one that oneDNN brought; without any, oneDNN is sequential.
class OneThread {
 public:
  OneThread() : before_(max_threads() != nullptr ? max_threads()() : 1) { set(1); }
  ~OneThread() { set(before_); }
  OneThread(OneThread const&) = delete;
  OneThread& operator=(OneThread const&) = delete;

 private:
  using Get = int (*)();
  using Set = void (*)(int);
  static Get max_threads() {
    static auto const found = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return found;
  }
  void set(int count) const {
    static auto const found = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (found != nullptr && before_ != 1) found(count);
  }
  int before_;
};

// oneDNN's kernels for long sums use the stack pointer for scratch memory of the heap: a signal's
// handler that ran meanwhile would have its frame below that memory, in somebody else's. So none
// runs; a product takes milliseconds at most, and the signal is there afterwards.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(NoSignals const&) = delete;
  NoSignals& operator=(NoSignals const&) = delete;

 private:
  sigset_t before_{};
};

// oneDNN shares compiled kernels between threads through a cache of its own, behind locks that a
// race detector cannot see. Making and dropping primitives is rare, so one of our locks orders it
// as well.
std::mutex& kernel_cache() {
  static std::mutex mutex;
  return mutex;
}

// One thread's engine, stream and primitives: oneDNN's scratch memory belongs to the thread that
// made a primitive, so they are not shared.
class Primitives {
 public:
  struct Entry {
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
    std::uint64_t last_used = 0;
  };

  Primitives() = default;
  Primitives(Primitives const&) = delete;
  Primitives& operator=(Primitives const&) = delete;
  ~Primitives() {
    std::lock_guard const lock(kernel_cache());
    entries_.clear();
  }

  void run(Block const& block, float const* a, float const* b, float* c) {
    auto& entry = find(block);
    // oneDNN's memory takes no pointer to const; sources are only read.
    dnnl::memory a_memory(entry.description.src_desc(), engine_, const_cast<float*>(a));
    dnnl::memory b_memory(entry.description.weights_desc(), engine_, const_cast<float*>(b));
    dnnl::memory c_memory(entry.description.dst_desc(), engine_, c);
    NoSignals const undisturbed;
    entry.primitive.execute(
        stream_,
        {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
    stream_.wait();
  }

  std::size_t size() const { return entries_.size(); }

 private:
  Entry& find(Block const& block) {
    ++now_;
    auto found = entries_.find(block);
    if (found == entries_.end()) {
      std::lock_guard const lock(kernel_cache());
      if (entries_.size() == kMaxPrimitives) drop_oldest();
      found = entries_.emplace(block, make(block)).first;
    }
    found->second.last_used = now_;
    return found->second;
  }

  Entry make(Block const& block) const {
    auto const matrix = [](std::int64_t rows, std::int64_t columns, Strides strides) {
      return dnnl::memory::desc({rows, columns}, dnnl::memory::data_type::f32,
                                {strides[0], strides[1]});
    };
    dnnl::primitive_attr attributes;
    if (block.accumulate) {
      dnnl::post_ops after;
      after.append_sum(1.0F);
      attributes.set_post_ops(after);
    }
    dnnl::matmul::desc const wanted(matrix(block.m, block.k, block.a),
                                    matrix(block.k, block.n, block.b),
                                    matrix(block.m, block.n, block.c));
    dnnl::matmul::primitive_desc description(wanted, attributes, engine_);
    dnnl::matmul primitive(description);
    return {std::move(description), std::move(primitive)};
  }

  void drop_oldest() {
    auto const oldest = std::min_element(
        entries_.begin(), entries_.end(),
        [](auto const& x, auto const& y) { return x.second.last_used < y.second.last_used; });
    entries_.erase(oldest);
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Block, Entry> entries_;
  std::uint64_t now_ = 0;
};

Primitives& primitives() {
  thread_local Primitives mine;
  return mine;
}

// How a product is cut: along its longer side, in multiples of 64, so that each block is worth the
// hand-over to another thread. By shape alone.
struct Cut {
  bool rows = true;
  std::int64_t width = 0;
  int count = 1;
};

Cut cut_of(Product const& p) {
  constexpr double kFlopsPerBlock = 8e6;
  constexpr std::int64_t kGrain = 64, kMaxBlocks = 16;
  Cut cut{.rows = p.m >= p.n};
  auto const side = cut.rows ? p.m : p.n;
  auto const flops =
      2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  auto const wanted = std::clamp(static_cast<std::int64_t>(std::min(flops / kFlopsPerBlock, 1e6)),
                                 std::int64_t{1}, kMaxBlocks);
  cut.width = ((side + wanted - 1) / wanted + kGrain - 1) / kGrain * kGrain;
  cut.count = static_cast<int>((side + cut.width - 1) / cut.width);
  return cut;
}

// The first error of any block; blocks run on several threads.
class FirstError {
 public:
  void note(char const* what) {
    if (!taken_.exchange(true))
      error_ = Error{Errc::internal, std::string("oneDNN: matrix product: ") + what,
                     "check that libdnnl fits this CPU and that memory is not exhausted"};
  }
  Result<void> result() const {
    if (error_) return *error_;
    return ok();
  }

 private:
  std::atomic<bool> taken_{false};
  std::optional<Error> error_;
};

void check_sizes(Product const& p, std::size_t a, std::size_t b, std::size_t c) {
  MUSTER_ASSERT(a == static_cast<std::size_t>(p.m * p.k) &&
                    b == static_cast<std::size_t>(p.k * p.n) &&
                    c == static_cast<std::size_t>(p.m * p.n),
                "matrices fill the sizes of their product");
}

}  // namespace

Result<void> matmul(Product const& product, std::span<float const> a, std::span<float const> b,
                    std::span<float> c) {
  check_sizes(product, a.size(), b.size(), c.size());
  if (c.empty()) return ok();
  if (product.k == 0) {
    if (!product.accumulate) std::fill(c.begin(), c.end(), 0.0F);
    return ok();
  }
  Block whole{product.m,      product.n,      product.k,         {product.k, 1},
              {product.n, 1}, {product.n, 1}, product.accumulate};
  if (product.transpose_a) whole.a = {1, product.m};
  if (product.transpose_b) whole.b = {1, product.k};
  auto const cut = cut_of(product);
  FirstError error;
  parallel_for(cut.count, [&](int i) {
    auto block = whole;
    auto const begin = i * cut.width;
    (cut.rows ? block.m : block.n) =
        std::min(cut.width, (cut.rows ? product.m : product.n) - begin);
    auto const* const a_block = a.data() + (cut.rows ? begin * whole.a[0] : 0);
    auto const* const b_block = b.data() + (cut.rows ? 0 : begin * whole.b[1]);
    auto* const c_block = c.data() + begin * (cut.rows ? whole.c[0] : whole.c[1]);
    try {
      OneThread const alone;
      primitives().run(block, a_block, b_block, c_block);
    } catch (std::exception const& failure) {
      error.note(failure.what());
    }
  });
  return error.result();
}

std::size_t cached_primitives() {
  return primitives().size();
}

}  // namespace muster::worker::cpu
