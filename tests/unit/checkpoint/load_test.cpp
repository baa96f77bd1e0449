// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/load.hpp"

#include "tests/support/ranks.hpp"
#include "tests/support/temp_folder.hpp"
#include "worker_runtime/checkpoint/directory.hpp"
#include "worker_runtime/checkpoint/save.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <functional>

namespace muster::worker {
namespace {

constexpr char kModel[] = "shard-00001-model-00001-of-00001.safetensors";

TrainState state_of(float value, Shape weight = {2, 3}) {
  TrainState state;
  state.model = {{"0.weight", Tensor::zeros(weight)}, {"0.bias", Tensor::zeros(Shape{2})}};
  state.optimizer = {{"0.bias.exp_avg", Tensor::zeros(Shape{2})}};
  for (auto* tensors : {&state.model, &state.optimizer})
    for (auto& [name, tensor] : *tensors)
      for (auto& element : tensor.as<float>()) element = value += 1.0F;
  state.trainer.step = 1;
  return state;
}

void save_as(std::string const& root, std::uint64_t step, TrainState state) {
  state.trainer.step = step;
  auto const saved = test::on_ranks(
      1, [&](Session& session) { return save(session.world(), state, root, {.keep = 0}); });
  REQUIRE(saved.front());
}

struct Outcome {
  Result<Loaded> loaded;
  TrainState state;
};

std::vector<Outcome> load_on(int size, std::string const& root, TrainState (*make)()) {
  return test::on_ranks(size, [&](Session& session) {
    auto state = make();
    auto loaded = load_latest(session.world(), state, root);
    return Outcome{std::move(loaded), std::move(state)};
  });
}

TrainState empty_state() {
  return state_of(-100.0F);
}

void spoil(std::filesystem::path const& file, std::function<void(std::string&)> const& change) {
  auto bytes = read_file(file.string(), 1 << 20);
  REQUIRE(bytes);
  change(*bytes);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << *bytes;
}

}  // namespace

TEST_CASE("what was saved is loaded on every rank, whatever their number", "[checkpoint]") {
  test::TempFolder const root;
  auto const saved = state_of(10.0F);
  save_as(root.path(), 3, saved);
  for (auto const& [loaded, state] : load_on(GENERATE(1, 2, 3), root.path(), empty_state)) {
    REQUIRE(loaded);
    CHECK(loaded->found);
    CHECK(loaded->saved_world == 1);
    CHECK(state.trainer.step == 3);
    CHECK(std::ranges::equal(state.model[0].tensor.as<float>(), saved.model[0].tensor.as<float>()));
    CHECK(std::ranges::equal(state.optimizer[0].tensor.as<float>(),
                             saved.optimizer[0].tensor.as<float>()));
  }
}

TEST_CASE("nothing to load is no error and changes nothing", "[checkpoint]") {
  test::TempFolder const root;
  for (auto const& [loaded, state] : load_on(2, root.path() + "/none", empty_state)) {
    REQUIRE(loaded);
    CHECK_FALSE(loaded->found);
    CHECK(state.model[0].tensor.as<float>()[0] == -99.0F);
  }
}

TEST_CASE("the newest is taken; a damaged one is set aside for the one before", "[checkpoint]") {
  test::TempFolder const root;
  save_as(root.path(), 3, state_of(3.0F));
  save_as(root.path(), 4, state_of(4.0F));
  auto const newest = root / "step-00000004";
  auto const way = GENERATE(0, 1, 2, 3, 4);
  if (way == 0) spoil(newest / kModel, [](std::string& bytes) { bytes.back() ^= 1; });
  if (way == 1) spoil(newest / kModel, [](std::string& bytes) { bytes.pop_back(); });
  if (way == 2) spoil(newest / "trainer.json", [](std::string& bytes) { bytes += " "; });
  if (way == 3) spoil(newest / "manifest.json", [](std::string& bytes) { bytes.resize(40); });
  if (way == 4) std::filesystem::remove(newest / kModel);
  for (auto const& [loaded, state] : load_on(2, root.path(), empty_state)) {
    REQUIRE(loaded);
    CHECK(loaded->path == (root / "step-00000003").string());
    CHECK(state.model[0].tensor.as<float>()[0] == 4.0F);
  }
  CHECK(std::filesystem::exists(root / "step-00000004.bad"));
}

TEST_CASE("if no checkpoint can be read that is an error, not a fresh start", "[checkpoint]") {
  test::TempFolder const root;
  save_as(root.path(), 3, state_of(3.0F));
  spoil(root / "step-00000003" / kModel, [](std::string& bytes) { bytes[100] ^= 1; });
  for (auto const& [loaded, state] : load_on(2, root.path(), empty_state)) {
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().what.find("its checksum is wrong") != std::string::npos);
  }
}

TEST_CASE("another model's checkpoint is refused by the first difference", "[checkpoint]") {
  test::TempFolder const root;
  save_as(root.path(), 3, state_of(3.0F));
  auto const refused = [&](TrainState (*make)()) {
    auto const outcomes = load_on(2, root.path(), make);
    REQUIRE_FALSE(outcomes[1].loaded);
    CHECK(outcomes[1].loaded.error().code == Errc::mismatch);
    CHECK(outcomes[0].loaded.error() == outcomes[1].loaded.error());
    return outcomes[0].loaded.error().what;
  };
  CHECK(refused([] {
          return state_of(0, Shape{3, 2});
        }).find("tensor 0.weight is F32 [2, 3], the program's is F32 [3, 2]") != std::string::npos);
  CHECK(refused([] {
          auto state = state_of(0);
          state.model[1].name = "1.bias";
          return state;
        }).find("holds no tensor 1.bias") != std::string::npos);
  CHECK(refused([] {
          auto state = state_of(0);
          state.optimizer.clear();
          return state;
        }).find("holds tensor 0.bias.exp_avg, which the program has not") != std::string::npos);
  CHECK(std::filesystem::exists(root / "step-00000003"));
}

TEST_CASE("one checkpoint is loaded by its own folder", "[checkpoint]") {
  test::TempFolder const root;
  save_as(root.path(), 3, state_of(3.0F));
  save_as(root.path(), 4, state_of(4.0F));
  auto const outcome = [&](std::string const& path) {
    return test::on_ranks(1,
                          [&](Session& session) {
                            auto state = empty_state();
                            return load(session.world(), state, path);
                          })
        .front();
  };
  CHECK(outcome((root / "step-00000003").string()));
  auto const missing = outcome((root / "step-00000005").string());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::not_found);
}

}  // namespace muster::worker
