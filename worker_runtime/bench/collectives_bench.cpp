// SPDX-License-Identifier: Apache-2.0
// All-reduce between N processes on this host, in nccl-tests' columns, checked in the same run, and
// beside PyTorch's gloo where it is installed. Ranks are forked before any thread exists; the
// parent serves the store and, afterwards, starts the peer.
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "rendezvous/net/hosted_store.hpp"
#include "worker_runtime/collectives/kernels.hpp"
#include "worker_runtime/comm/session.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace muster;
using namespace muster::worker;

namespace {

struct Settings {
  int ranks = 2;
  std::int64_t min_bytes = 8, max_bytes = 32 << 20;
  int factor = 4;
  double seconds_per_size = 0.3;
  bool json = false;
  std::string gloo_python;  // "none": without the peer
};

struct Timing {
  double seconds = 0;
  std::int64_t wrong = 0;
};

int iterations_for(Settings const& settings, std::int64_t bytes) {
  auto const guess = 20e-6 + static_cast<double>(bytes) / 1e9;
  return std::clamp(static_cast<int>(settings.seconds_per_size / guess), 5, 5'000);
}

Collective all_reduce_of(Tensor in, Tensor out) {
  Collective collective;
  collective.kind = OpKind::all_reduce;
  collective.in = std::move(in);
  collective.out = std::move(out);
  return collective;
}

Tensor fill(std::int64_t count, int rank) {
  Random random(static_cast<std::uint64_t>(rank) + 17);
  auto const tensor = Tensor::zeros(Shape{count});
  for (auto& value : tensor.as<float>()) value = static_cast<float>(random.unit() - 0.5);
  return tensor;
}

// Elements whose bits are not the tree's.
Result<std::int64_t> count_wrong(ProcessGroup& group, std::int64_t count, bool in_place) {
  std::vector<Tensor> parts;
  for (int rank = 0; rank < group.shape().size; ++rank) parts.push_back(fill(count, rank));
  auto const mine = parts[static_cast<std::size_t>(group.shape().rank)].clone();
  auto const out = in_place ? mine : Tensor::zeros(Shape{count});
  auto const collective = all_reduce_of(mine, out);
  MUSTER_CHECK(group.submit(std::span<Collective const>(&collective, 1)).wait());
  auto const expected = tree_reduced(parts);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i)
    wrong += std::memcmp(out.data() + 4 * i, expected.data() + 4 * i, 4) == 0 ? 0 : 1;
  return wrong;
}

Result<Timing> time_one(ProcessGroup& group, std::int64_t bytes, int iterations, bool in_place) {
  auto const count = std::max<std::int64_t>(1, bytes / 4);
  Timing timing;
  MUSTER_TRY(timing.wrong, count_wrong(group, count, in_place));
  auto const in = Tensor::zeros(Shape{count});
  auto const out = in_place ? in : Tensor::zeros(Shape{count});
  auto const collective = all_reduce_of(in, out);
  auto const once = std::span<Collective const>(&collective, 1);
  for (int i = 0; i < 2; ++i) MUSTER_CHECK(group.submit(once).wait());
  MUSTER_CHECK(barrier(group).wait());
  auto const begin = now();
  for (int i = 0; i < iterations; ++i) MUSTER_CHECK(group.submit(once).wait());
  double const values[] = {std::chrono::duration<double>(now() - begin).count() / iterations,
                           static_cast<double>(timing.wrong)};
  auto const slowest = Tensor::of<double>(Shape{2}, std::span<double const>(values));
  CallOptions options;
  options.op = ReduceOp::max;
  MUSTER_CHECK(all_reduce(group, slowest, options).wait());
  timing.seconds = slowest.as<double>()[0];
  timing.wrong = static_cast<std::int64_t>(slowest.as<double>()[1]);
  return timing;
}

std::vector<std::int64_t> sizes_of(Settings const& settings) {
  std::vector<std::int64_t> sizes;
  for (auto bytes = settings.min_bytes; bytes <= settings.max_bytes; bytes *= settings.factor)
    sizes.push_back(bytes);
  return sizes;
}

void print_columns(double seconds, std::int64_t bytes, int ranks) {
  auto const algbw = static_cast<double>(bytes) / seconds / 1e9;
  std::printf(" %9.2f %7.3f %7.3f", seconds * 1e6, algbw, algbw * 2 * (ranks - 1) / ranks);
}

void print_line(Settings const& settings, std::int64_t bytes, Timing const& apart,
                Timing const& in_place) {
  if (settings.json) {
    std::printf(
        "{\"name\": \"all_reduce %lld B, %d ranks, cpu\", \"value\": %.3f, \"unit\": \"us\", "
        "\"wrong\": %lld}\n",
        static_cast<long long>(bytes), settings.ranks, in_place.seconds * 1e6,
        static_cast<long long>(in_place.wrong + apart.wrong));
    return;
  }
  std::printf("%12lld %12lld %8s %6s %6d", static_cast<long long>(bytes),
              static_cast<long long>(std::max<std::int64_t>(1, bytes / 4)), "float", "sum", -1);
  print_columns(apart.seconds, bytes, settings.ranks);
  std::printf(" %6lld", static_cast<long long>(apart.wrong));
  print_columns(in_place.seconds, bytes, settings.ranks);
  std::printf(" %6lld\n", static_cast<long long>(in_place.wrong));
  std::fflush(stdout);
}

void print_head(Settings const& settings) {
  if (settings.json) return;
  std::printf("# muster collectives_bench: all_reduce, %d processes over TCP on loopback\n",
              settings.ranks);
  std::printf("# %10s %12s %8s %6s %6s %9s %7s %7s %6s %9s %7s %7s %6s\n", "size(B)", "count",
              "type", "redop", "root", "time(us)", "algbw", "busbw", "#wrong", "time(us)", "algbw",
              "busbw", "#wrong");
  std::fflush(stdout);
}

// Rank 0 leaves its times for the parent in the pipe: size, seconds.
struct Sample {
  std::int64_t bytes;
  double seconds;
};

Result<void> be_rank(Settings const& settings, EnvView const& environment, int samples_fd) {
  MUSTER_TRY(auto session, Session::open(environment));
  auto& group = session.world();
  std::int64_t wrong = 0;
  for (auto const bytes : sizes_of(settings)) {
    auto const iterations = iterations_for(settings, bytes);
    MUSTER_TRY(auto const apart, time_one(group, bytes, iterations, false));
    MUSTER_TRY(auto const in_place, time_one(group, bytes, iterations, true));
    wrong += apart.wrong + in_place.wrong;
    if (session.rank() != 0) continue;
    print_line(settings, bytes, apart, in_place);
    Sample const sample{bytes, in_place.seconds};
    if (::write(samples_fd, &sample, sizeof sample) != sizeof sample)
      return Error{Errc::system, "the bench's parent does not read", {}};
  }
  if (wrong != 0)
    return Error{Errc::corrupt, std::to_string(wrong) + " elements differ from the tree", {}};
  return ok();
}

EnvView environment_of(int rank, int ranks, std::uint16_t port) {
  auto environment = EnvView::from_process();
  environment.set(env::kRank, std::to_string(rank));
  environment.set(env::kLocalRank, std::to_string(rank));
  environment.set(env::kWorldSize, std::to_string(ranks));
  environment.set(env::kMasterAddr, "127.0.0.1");
  environment.set(env::kMasterPort, std::to_string(port));
  environment.set(env::kUseAgentStore, "True");
  return environment;
}

[[noreturn]] void run_rank(Settings const& settings, int rank, int port_fd, int samples_fd) {
  std::uint16_t port = 0;
  if (::read(port_fd, &port, sizeof port) != sizeof port) std::exit(1);
  std::exit(run_main(
      [&] { return be_rank(settings, environment_of(rank, settings.ranks, port), samples_fd); }));
}

bool all_succeeded(std::vector<pid_t> const& children) {
  bool good = true;
  for (auto const child : children) {
    int status = 0;
    good &= ::waitpid(child, &status, 0) == child && status == 0;
  }
  return good;
}

using Times = std::map<std::int64_t, double>;

Result<Times> run_own(Settings const& settings) {
  MUSTER_TRY(auto port_pipe, make_pipe());
  MUSTER_TRY(auto samples, make_pipe());
  std::vector<pid_t> children;
  print_head(settings);
  for (int rank = 0; rank < settings.ranks; ++rank) {
    auto const child = ::fork();
    if (child == 0) run_rank(settings, rank, port_pipe.read_end.get(), samples.write_end.get());
    children.push_back(child);
  }
  samples.write_end.reset();
  MUSTER_TRY(auto store, net::HostedStore::start("127.0.0.1", 0));
  auto const port = store.port();
  for (int rank = 0; rank < settings.ranks; ++rank)
    if (::write(port_pipe.write_end.get(), &port, sizeof port) != sizeof port)
      return from_errno(errno, "telling the ranks the store's port");
  Times times;
  Sample sample{};
  while (::read(samples.read_end.get(), &sample, sizeof sample) == sizeof sample)
    times[sample.bytes] = sample.seconds;
  if (!all_succeeded(children)) return Error{Errc::internal, "a rank failed", {}};
  return times;
}

pid_t start_gloo(Settings const& settings, int rank, std::uint16_t port, int out_fd) {
  auto const child = ::fork();
  if (child != 0) return child;
  std::vector<std::string> words{settings.gloo_python, MUSTER_GLOO_PEER};
  for (auto const bytes : sizes_of(settings))
    words.push_back(std::to_string(bytes) + ":" +
                    std::to_string(std::min(iterations_for(settings, bytes), 500)));
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> variables;
  auto const view = environment_of(rank, settings.ranks, port);
  for (auto const& [name, value] : view.all()) variables.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (auto& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  ::dup2(out_fd, STDOUT_FILENO);
  ::execve(arguments[0], arguments.data(), environment.data());
  ::_exit(127);
}

Result<Times> run_gloo(Settings const& settings) {
  MUSTER_TRY(auto store, net::HostedStore::start("127.0.0.1", 0));
  MUSTER_TRY(auto out, make_pipe());
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.ranks; ++rank)
    children.push_back(start_gloo(settings, rank, store.port(), out.write_end.get()));
  out.write_end.reset();
  std::string text;
  char bytes[512];
  for (ssize_t got = 0; (got = ::read(out.read_end.get(), bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  if (!all_succeeded(children)) return Error{Errc::internal, "the gloo peer failed", {}};
  Times times;
  for (auto const* line = text.c_str(); line != nullptr && *line != '\0';) {
    long long size = 0;
    double seconds = 0;
    if (std::sscanf(line, "%lld %lf", &size, &seconds) == 2) times[size] = seconds;
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return times;
}

void print_ratios(Settings const& settings, Times const& own, Times const& gloo) {
  if (!settings.json)
    std::printf("# beside gloo (PyTorch), in place\n# %10s %12s %12s %8s\n", "size(B)",
                "muster(us)", "gloo(us)", "ratio");
  for (auto const& [bytes, seconds] : gloo) {
    auto const found = own.find(bytes);
    if (found == own.end()) continue;
    auto const ratio = seconds / found->second;
    if (settings.json)
      std::printf(
          "{\"name\": \"all_reduce %lld B, %d ranks, gloo / muster\", \"value\": %.3f, "
          "\"unit\": \"x\"}\n",
          static_cast<long long>(bytes), settings.ranks, ratio);
    else
      std::printf("%12lld %12.2f %12.2f %7.2fx\n", static_cast<long long>(bytes),
                  found->second * 1e6, seconds * 1e6, ratio);
  }
}

std::string default_python() {
  auto const environment = EnvView::from_process();
  auto const cache = environment.get("XDG_CACHE_HOME");
  auto const home = environment.get("HOME");
  auto const base =
      cache && !cache->empty() ? std::string(*cache) : std::string(home.value_or("")) + "/.cache";
  return base + "/muster/torch/bin/python";
}

int usage() {
  std::fprintf(stderr,
               "usage: collectives_bench [--ranks N] [--min BYTES] [--max BYTES] [--factor F]\n"
               "         [--seconds PER_SIZE] [--json] [--gloo-python PATH|none]\n");
  return 2;
}

bool read_option(Settings& settings, std::string const& name, std::string const& value) {
  auto const number = parse_int(value);
  if (name == "--ranks" && number && *number >= 2)
    settings.ranks = static_cast<int>(*number);
  else if (name == "--min" && number && *number >= 4)
    settings.min_bytes = *number;
  else if (name == "--max" && number && *number >= 4)
    settings.max_bytes = *number;
  else if (name == "--factor" && number && *number >= 2)
    settings.factor = static_cast<int>(*number);
  else if (name == "--seconds")
    settings.seconds_per_size = std::atof(value.c_str());
  else if (name == "--gloo-python")
    settings.gloo_python = value;
  else
    return false;
  return true;
}

int run(Settings const& settings) {
  auto const own = run_own(settings);
  if (!own) {
    std::fprintf(stderr, "collectives_bench: %s\n", to_string(own.error()).c_str());
    return 1;
  }
  if (settings.gloo_python == "none") return 0;
  if (::access(settings.gloo_python.c_str(), X_OK) != 0) {
    std::fprintf(stderr, "collectives_bench: no PyTorch at %s; gloo is left out\n",
                 settings.gloo_python.c_str());
    return 0;
  }
  auto const gloo = run_gloo(settings);
  if (!gloo) {
    std::fprintf(stderr, "collectives_bench: %s\n", to_string(gloo.error()).c_str());
    return 1;
  }
  print_ratios(settings, *own, *gloo);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.gloo_python = default_python();
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    if (name == "--json") {
      settings.json = true;
    } else if (i + 1 >= argc || !read_option(settings, name, argv[++i])) {
      return usage();
    }
  }
  return run(settings);
}
