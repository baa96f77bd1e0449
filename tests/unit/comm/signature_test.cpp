// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/signature.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::worker;

namespace {

GroupShape shape_of(int rank, int size) {
  GroupShape shape;
  shape.rank = rank;
  shape.size = size;
  return shape;
}

Collective collective_of(OpKind kind, Tensor in, Tensor out) {
  Collective collective;
  collective.kind = kind;
  collective.in = std::move(in);
  collective.out = std::move(out);
  return collective;
}

std::string refusal(Collective const& collective, GroupShape const& shape) {
  auto const checked = check_collective(collective, shape);
  if (checked) return {};
  CHECK(checked.error().code == Errc::bad_input);
  return checked.error().what;
}

}  // namespace

TEST_CASE("bytes are not reduced, and integers take no factor") {
  auto const bytes = Tensor::zeros(Shape{4}, DType::u8);
  CHECK(refusal(collective_of(OpKind::all_reduce, bytes, bytes), shape_of(0, 2)) ==
        "all_reduce: elements of U8 are not reduced");
  auto const whole = Tensor::zeros(Shape{4}, DType::i32);
  auto scaled = collective_of(OpKind::all_reduce, whole, whole);
  scaled.factor = 0.5;
  CHECK(refusal(scaled, shape_of(0, 2)).find("a factor needs floating elements") !=
        std::string::npos);
}

TEST_CASE("slices must fit the vector and the rank") {
  auto const whole = Tensor::zeros(Shape{7}), slice = Tensor::zeros(Shape{3});
  auto scatter = collective_of(OpKind::reduce_scatter, whole, slice);
  CHECK(refusal(scatter, shape_of(0, 2)) == "reduce_scatter: 7 elements do not divide by 2 ranks");
  scatter.counts = {3, 4};
  CHECK(refusal(scatter, shape_of(0, 2)).empty());
  CHECK(refusal(scatter, shape_of(1, 2)).find("expected 4 x F32") != std::string::npos);
  scatter.counts = {3, 3};
  CHECK(refusal(scatter, shape_of(0, 2)).find("add up to 6") != std::string::npos);
  scatter.counts = {8, -1};
  CHECK(refusal(scatter, shape_of(0, 2)).find("negative") != std::string::npos);
  scatter.counts = {7};
  CHECK(refusal(scatter, shape_of(0, 2)).find("1 counts for 2 ranks") != std::string::npos);
}

TEST_CASE("in and out may share bytes only at this rank's slice") {
  auto const whole = Tensor::zeros(Shape{8});
  CHECK(
      refusal(collective_of(OpKind::all_gather, whole.flat(4, 4), whole), shape_of(1, 2)).empty());
  CHECK(refusal(collective_of(OpKind::all_gather, whole.flat(4, 4), whole), shape_of(0, 2))
            .find("overlap") != std::string::npos);
  CHECK(
      refusal(collective_of(OpKind::all_reduce, whole.flat(0, 4), whole.flat(2, 4)), shape_of(0, 2))
          .find("overlap") != std::string::npos);
}

TEST_CASE("a root must be a rank of the group, and the site is named") {
  auto const whole = Tensor::zeros(Shape{8});
  auto collective = collective_of(OpKind::broadcast, whole, whole);
  collective.peer = 2;
  collective.site = "start values";
  CHECK(refusal(collective, shape_of(0, 2)) ==
        "broadcast (start values): root 2 is outside a group of 2");
}

TEST_CASE("a signature tells operations apart and reads well") {
  auto const whole = Tensor::zeros(Shape{8});
  auto collective = collective_of(OpKind::all_reduce, whole, whole);
  auto const plain = signature_of(collective, 2);
  CHECK(describe(plain, "bucket 3") == "all_reduce sum of 8 x F32 (bucket 3)");
  collective.factor = 0.5;
  CHECK(signature_of(collective, 2) != plain);
  collective = collective_of(OpKind::broadcast, whole, whole);
  collective.peer = 1;
  CHECK(describe(signature_of(collective, 2)) == "broadcast of 8 x F32 from rank 1");
  collective.kind = OpKind::barrier;
  CHECK(describe(signature_of(collective, 2)) == "barrier");
}
