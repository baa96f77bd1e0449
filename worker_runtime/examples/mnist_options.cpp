// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/mnist_options.hpp"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>

namespace muster::worker {

char const kMnistUsage[] =
    R"(mnist_ddp: trains an MLP 784-256-10 on handwritten digits, data parallel.

usage: muster run --standalone --nproc-per-node=4 --no-python mnist_ddp [options]
       (alone, or under any launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT)

  --data DIR           folder with MNIST's IDX files, plain or .gz (else $MUSTER_MNIST; else the
                       10,000 digits of the source tree)
  --checkpoint DIR     save here after each epoch and on SIGTERM; resume from the newest one
  --keep N             checkpoints to keep (2; 0: all)
  --epochs N           (10)
  --batch N            samples per rank and step (64)
  --global-batch N     samples per step of all ranks together: the same steps, whatever their number
  --lr RATE            for a global batch of 64; scaled linearly with it (0.001)
  --seed N             of the initial weights and the order of the samples (0)
  --simulate-world W   compute what W ranks would, bit for bit, in this one process
  --digest             print the trained parameters' fingerprint
  --rows-to DIR        write down which samples each step took, a file for each round and rank
  --help               this text

exit status: 0 trained; 85 asked to stop, saved; 86 asked to stop, not saved; 89 a peer was lost;
             1 another error; 2 a wrong command line
)";

namespace {

constexpr char kHint[] = "mnist_ddp --help lists the options";

Result<std::int64_t> whole(std::string_view name, std::string_view text, std::int64_t least) {
  auto const value = parse_int(text);
  if (!value || *value < least || *value > 1'000'000'000)
    return Error{Errc::bad_input,
                 std::string(name) + ": '" + std::string(text) + "' is not a number of at least " +
                     std::to_string(least),
                 kHint};
  return *value;
}

Result<double> rate(std::string_view text) {
  std::string const copy(text);
  char* end = nullptr;
  auto const value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !std::isfinite(value) || value <= 0)
    return Error{Errc::bad_input, "--lr: '" + copy + "' is not a number above 0", kHint};
  return value;
}

Result<void> set(MnistOptions& options, std::string_view name, std::string_view text) {
  if (name == "--data" || name == "--checkpoint" || name == "--rows-to") {
    if (text.empty()) return Error{Errc::bad_input, std::string(name) + ": no folder", kHint};
    if (name == "--data") options.data = text;
    if (name == "--checkpoint") options.checkpoint = text;
    if (name == "--rows-to") options.rows_to = text;
    return ok();
  }
  if (name == "--lr") {
    MUSTER_TRY(options.lr, rate(text));
    return ok();
  }
  auto const least = name == "--keep" || name == "--seed" ? 0 : 1;
  MUSTER_TRY(auto const value, whole(name, text, least));
  if (name == "--epochs") options.epochs = value;
  if (name == "--batch") options.batch = value;
  if (name == "--global-batch") options.global_batch = value;
  if (name == "--keep") options.keep = value;
  if (name == "--seed") options.seed = static_cast<std::uint64_t>(value);
  if (name == "--simulate-world") options.simulate_world = static_cast<int>(value);
  return ok();
}

bool takes_value(std::string_view name) {
  for (auto const* known : {"--data", "--checkpoint", "--keep", "--epochs", "--batch",
                            "--global-batch", "--lr", "--seed", "--simulate-world", "--rows-to"})
    if (name == known) return true;
  return false;
}

}  // namespace

Result<MnistOptions> parse_mnist_options(std::span<char* const> arguments,
                                         EnvView const& environment) {
  MnistOptions options;
  options.data = environment.get("MUSTER_MNIST").value_or("");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view const argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--digest") {
      options.digest = true;
      continue;
    }
    auto const equals = argument.find('=');
    auto const name = argument.substr(0, equals);
    if (!takes_value(name))
      return Error{Errc::bad_input, "unknown option '" + std::string(argument) + "'", kHint};
    if (equals == std::string_view::npos && i + 1 == arguments.size())
      return Error{Errc::bad_input, std::string(name) + " needs a value", kHint};
    MUSTER_CHECK(
        set(options, name,
            equals == std::string_view::npos ? arguments[++i] : argument.substr(equals + 1)));
  }
  return options;
}

}  // namespace muster::worker
