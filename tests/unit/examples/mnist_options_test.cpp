// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/mnist_options.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace muster::worker {
namespace {

Result<MnistOptions> parse(std::vector<std::string> arguments, EnvView const& environment = {}) {
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  return parse_mnist_options(pointers, environment);
}

}  // namespace

TEST_CASE("options are read in both spellings, over the environment and the defaults",
          "[examples]") {
  EnvView environment;
  environment.set("MUSTER_MNIST", "/env");
  auto const defaults = parse({}, environment);
  REQUIRE(defaults);
  CHECK(defaults->data == "/env");
  CHECK(defaults->epochs == 10);
  CHECK(defaults->batch == 64);
  auto const given = parse(
      {"--data=/d", "--epochs", "3", "--lr=0.5", "--digest", "--seed", "0", "--simulate-world=4",
       "--keep", "0", "--checkpoint", "c", "--global-batch=96", "--rows-to", "r"},
      environment);
  REQUIRE(given);
  CHECK(given->data == "/d");
  CHECK(given->epochs == 3);
  CHECK(given->lr == 0.5);
  CHECK(given->digest);
  CHECK(given->simulate_world == 4);
  CHECK(given->keep == 0);
  CHECK(given->checkpoint == "c");
  CHECK(given->global_batch == 96);
  CHECK(given->rows_to == "r");
  CHECK(parse({"--help", "--nonsense"})->help);
}

TEST_CASE("what cannot be meant is refused in one line that names it", "[examples]") {
  auto const refused = [](std::vector<std::string> arguments) {
    auto const options = parse(std::move(arguments));
    REQUIRE_FALSE(options);
    CHECK(options.error().code == Errc::bad_input);
    return options.error().what;
  };
  CHECK(refused({"--epoch", "3"}) == "unknown option '--epoch'");
  CHECK(refused({"digits"}) == "unknown option 'digits'");
  CHECK(refused({"--epochs"}) == "--epochs needs a value");
  CHECK(refused({"--epochs", "0"}) == "--epochs: '0' is not a number of at least 1");
  CHECK(refused({"--batch=6.4"}) == "--batch: '6.4' is not a number of at least 1");
  CHECK(refused({"--global-batch", "0"}) == "--global-batch: '0' is not a number of at least 1");
  CHECK(refused({"--rows-to="}) == "--rows-to: no folder");
  CHECK(refused({"--lr", "-1"}) == "--lr: '-1' is not a number above 0");
  CHECK(refused({"--lr", "nan"}) == "--lr: 'nan' is not a number above 0");
  CHECK(refused({"--checkpoint="}) == "--checkpoint: no folder");
}

}  // namespace muster::worker
