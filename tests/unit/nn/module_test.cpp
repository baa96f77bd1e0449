// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/module.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace muster::worker {
namespace {

class Leaf final : public Module {
 public:
  explicit Leaf(std::string name = "weight") {
    declare({.name = std::move(name), .shape = {4}, .init = {Init::Kind::uniform, -1, 1}});
  }

 private:
  Var forward(Tape& tape, Var in) override {
    return tape.record({&in, 1}, tape.value(in), parameters(),
                       [in](Tape& t, Tensor const& dout) { t.accumulate(in, dout); });
  }
};

class Pair final : public Module {
 public:
  Pair() {
    child("first", first_);
    child("second", second_);
    declare({.name = "scale", .shape = {1}, .init = {Init::Kind::constant, 1}});
  }

 private:
  Var forward(Tape& tape, Var in) override { return second_(tape, first_(tape, in)); }
  Leaf first_, second_{"bias"};
};

class Tree final : public Module {
 public:
  Tree() { child("pair", pair_); }

 private:
  Var forward(Tape& tape, Var in) override { return pair_(tape, in); }
  Pair pair_;
};

std::vector<std::string> names_of(Module& module) {
  std::vector<std::string> names;
  for (auto const* const param : module.parameters()) names.push_back(param->spec().name);
  return names;
}

class Trace final : public Parallel {
 public:
  void begin(Window) override {}
  void loss(double) override {}
  void enter(Module& module, Phase phase) override { note("enter ", module, phase); }
  void leave(Module& module, Phase phase) override { note("leave ", module, phase); }
  void ready(Param& param) override { lines.push_back("ready " + param.spec().name); }
  Result<void> finish() override { return ok(); }
  bool finished() const override { return true; }
  std::span<ShardView> shards() override { return {}; }

  std::vector<std::string> lines;

 private:
  void note(char const* what, Module& module, Phase phase) {
    lines.push_back(what + module.parameters().front()->spec().name +
                    (phase == Phase::forward ? " f" : " b"));
  }
};

TEST_CASE("parameter names join with dots from the root, as in torch's state_dict", "[nn]") {
  Tree tree;
  CHECK(names_of(tree) ==
        std::vector<std::string>{"pair.scale", "pair.first.weight", "pair.second.bias"});
}

TEST_CASE("values are drawn from seed and full name, whatever else is in the tree", "[nn]") {
  Tree tree;
  Leaf alone("pair.first.weight");
  materialize(tree, 11);
  materialize(alone, 11);
  auto const in_tree = tree.parameters()[1]->value();
  auto const by_itself = alone.parameters()[0]->value();
  for (std::size_t i = 0; i < 4; ++i) CHECK(in_tree.as<float>()[i] == by_itself.as<float>()[i]);
  CHECK(tree.parameters()[0]->value().as<float>()[0] == 1.0F);
}

TEST_CASE("parallel sees modules entered and left in forward, and mirrored in backward", "[nn]") {
  Pair pair;
  Trace trace;
  Tape tape({}, trace);
  REQUIRE(tape.backward(pair(tape, tape.input(Tensor::zeros({1})))));
  CHECK(trace.lines ==
        std::vector<std::string>{"enter scale f", "enter first.weight f", "leave first.weight f",
                                 "enter second.bias f", "leave second.bias f", "leave scale f",
                                 // backward: the pair, then its second, then its first
                                 "enter scale b", "enter second.bias b", "ready second.bias",
                                 "leave second.bias b", "enter first.weight b",
                                 "ready first.weight", "leave first.weight b", "leave scale b"});
}

TEST_CASE("after an error modules pass their input through", "[nn]") {
  Pair pair;
  Trace trace;
  Tape tape({}, trace);
  tape.fail({Errc::bad_input, "no such label", {}});
  auto const in = tape.input(Tensor::zeros({1}));
  CHECK(pair(tape, in).node == in.node);
  CHECK(trace.lines.empty());
}

}  // namespace
}  // namespace muster::worker
