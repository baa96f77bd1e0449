// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/tape.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace muster::worker {
namespace {

// Notes in which order parameters became ready.
class Watch final : public Parallel {
 public:
  void begin(Window) override {}
  void loss(double value) override { losses.push_back(value); }
  void enter(Module&, Phase) override {}
  void leave(Module&, Phase) override {}
  void ready(Param& param) override { order.push_back(param.spec().name); }
  Result<void> finish() override { return ok(); }
  bool finished() const override { return true; }
  std::span<ShardView> shards() override { return {}; }

  std::vector<std::string> order;
  std::vector<double> losses;
};

Tensor scalar(float x) {
  return Tensor::of<float>({1}, std::span<float const>(&x, 1));
}
float number(Tensor const& t) {
  return t.as<float>()[0];
}

std::unique_ptr<Param> parameter(std::string name, float value, bool trainable = true) {
  auto param = std::make_unique<Param>(
      ParamSpec{.name = std::move(name), .shape = {1}, .trainable = trainable});
  param->bind_value(scalar(value));
  param->bind_grad(scalar(0));
  return param;
}

// y = x * w, as a layer would write it.
Var times(Tape& tape, Var x, Param& w) {
  auto const in = tape.value(x);
  std::vector<Param*> const uses{&w};
  auto backward = [x, in, &w](Tape& t, Tensor const& dout) {
    if (w.spec().trainable) w.grad().as<float>()[0] += number(dout) * number(in);
    if (t.needs_grad(x)) t.accumulate(x, scalar(number(dout) * number(w.value())));
  };
  return tape.record({&x, 1}, scalar(number(in) * number(w.value())), uses, backward);
}

Var plus(Tape& tape, Var a, Var b) {
  std::vector<Var> const in{a, b};
  return tape.record(in, scalar(number(tape.value(a)) + number(tape.value(b))), {},
                     [a, b](Tape& t, Tensor const& dout) {
                       t.accumulate(a, dout);
                       t.accumulate(b, dout);
                     });
}

TEST_CASE("backward goes through the record in reverse and readies parameters as it passes them",
          "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3), b = parameter("b", 5);
  Tape tape({}, watch);
  auto const x = tape.input(scalar(2), true);
  auto const loss = times(tape, times(tape, x, *a), *b);
  auto const value = tape.backward(loss);
  REQUIRE(value);
  CHECK(*value == 30.0);
  CHECK(number(a->grad()) == 10.0F);
  CHECK(number(b->grad()) == 6.0F);
  CHECK(number(tape.grad(x)) == 15.0F);
  CHECK(watch.order == std::vector<std::string>{"b", "a"});
  CHECK(watch.losses == std::vector<double>{30.0});
}

TEST_CASE("a tied weight is ready once, after its last use, with the sum of its gradients",
          "[nn]") {
  Watch watch;
  auto const w = parameter("w", 3), b = parameter("b", 5);
  Tape tape({}, watch);
  auto const loss = times(tape, times(tape, times(tape, tape.input(scalar(2)), *w), *b), *w);
  REQUIRE(tape.backward(loss));
  CHECK(number(w->grad()) == 2 * 2 * 3 * 5);
  CHECK(watch.order == std::vector<std::string>{"b", "w"});
}

TEST_CASE("a residual's gradients add up without touching bytes that another variable holds",
          "[nn]") {
  Watch watch;
  auto const w = parameter("w", 3);
  Tape tape({}, watch);
  auto const x = tape.input(scalar(2), true), y = tape.input(scalar(7), true);
  // loss = (x + y) + x * w + x: x and y first share the gradient of their sum.
  auto const loss = plus(tape, plus(tape, times(tape, x, *w), x), plus(tape, x, y));
  REQUIRE(tape.backward(loss));
  CHECK(number(tape.grad(x)) == 5.0F);
  CHECK(number(tape.grad(y)) == 1.0F);
}

TEST_CASE("a parameter that the loss does not reach is never ready", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3), aside = parameter("aside", 5), shared = parameter("shared", 2);
  Tape tape({}, watch);
  auto const x = tape.input(scalar(2));
  auto const unused = times(tape, times(tape, x, *aside), *shared);
  auto const loss = times(tape, times(tape, x, *a), *shared);
  REQUIRE(tape.backward(loss));
  CHECK_FALSE(tape.value(unused).storage);  // freed all the same
  CHECK(number(aside->grad()) == 0.0F);
  CHECK(number(shared->grad()) == 6.0F);
  CHECK(watch.order == std::vector<std::string>{"a", "shared"});
}

TEST_CASE("a frozen parameter passes the gradient on and gets none", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3), frozen = parameter("frozen", 5, false);
  Tape tape({}, watch);
  auto const loss = times(tape, times(tape, tape.input(scalar(2)), *a), *frozen);
  REQUIRE(tape.backward(loss));
  CHECK(number(a->grad()) == 10.0F);
  CHECK(number(frozen->grad()) == 0.0F);
  CHECK(watch.order == std::vector<std::string>{"a"});
}

TEST_CASE("below the last thing that learns no closure is kept", "[nn]") {
  Watch watch;
  auto const frozen = parameter("frozen", 5, false);
  Tape tape({}, watch);
  auto const probe = std::make_shared<int>(0);
  auto const x = tape.input(scalar(1));
  std::vector<Param*> const uses{frozen.get()};
  auto const y = tape.record({&x, 1}, scalar(5), uses, [probe](Tape&, Tensor const&) {});
  CHECK(probe.use_count() == 1);
  CHECK_FALSE(tape.needs_grad(y));
}

TEST_CASE("a forward without recording keeps no closures and refuses backward", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3);
  Tape tape({.record = false}, watch);
  auto const loss = times(tape, tape.input(scalar(2), true), *a);
  CHECK(number(tape.value(loss)) == 6.0F);
  CHECK_FALSE(tape.needs_grad(loss));
  auto const value = tape.backward(loss);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == Errc::bad_input);
  CHECK(watch.order.empty());
}

TEST_CASE("the first error sticks and comes out of backward", "[nn]") {
  Watch watch;
  Tape tape({}, watch);
  auto const x = tape.input(scalar(2));
  tape.fail({Errc::bad_input, "first", {}});
  tape.fail({Errc::internal, "second", {}});
  CHECK(tape.failed());
  auto const value = tape.backward(x);
  REQUIRE_FALSE(value);
  CHECK(value.error().what == "first");
}

TEST_CASE("an error inside backward ends it before more parameters are ready", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3);
  Tape tape({}, watch);
  auto const x = times(tape, tape.input(scalar(2)), *a);
  auto const loss = tape.record({&x, 1}, scalar(1), {}, [](Tape& t, Tensor const&) {
    t.fail({Errc::internal, "broken kernel", {}});
  });
  CHECK_FALSE(tape.backward(loss));
  CHECK(watch.order.empty());
}

TEST_CASE("backward runs once a tape and starts at one element", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3);
  Tape tape({}, watch);
  auto const wide = tape.input(Tensor::zeros({2}));
  auto const loss = times(tape, tape.input(scalar(2)), *a);
  SECTION("not at a vector") {
    auto const refused = tape.backward(wide);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("[2]") != std::string::npos);
  }
  SECTION("not twice") {
    REQUIRE(tape.backward(loss));
    CHECK_FALSE(tape.backward(loss));
  }
}

TEST_CASE("activations are freed as backward passes them", "[nn]") {
  Watch watch;
  auto const a = parameter("a", 3);
  Tape tape({}, watch);
  auto const middle = times(tape, tape.input(scalar(2)), *a);
  std::weak_ptr<Storage> const held = tape.value(middle).storage;
  bool freed_before_end = true;
  auto const loss = times(tape, middle, *a);
  tape.mark([&](Tape&) { freed_before_end = held.expired(); });
  REQUIRE(tape.backward(loss));
  CHECK_FALSE(freed_before_end);  // the last mark runs first
  CHECK(held.expired());
}

}  // namespace
}  // namespace muster::worker
