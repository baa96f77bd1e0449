// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/manifest.hpp"

#include <catch2/catch.hpp>

#include <functional>

namespace muster::worker {
namespace {

// Tensor w [4, 2] in two shards of two rows, tensor s a scalar.
Manifest sample() {
  Manifest manifest;
  manifest.world = 2;
  manifest.step = 563;
  manifest.round = 7;
  manifest.fingerprint = "00ff";
  manifest.files = {{"a.safetensors", 100, 1}, {"b.safetensors", 100, 4294967295U}};
  manifest.model = {{"w",
                     DType::f32,
                     Shape{4, 2},
                     {{{0, 0}, {2, 2}, "a.safetensors", 84, 100, 5},
                      {{2, 0}, {2, 2}, "b.safetensors", 84, 100, 6}}}};
  manifest.optimizer = {{"w.step", DType::i64, Shape{}, {{{}, {}, "a.safetensors", 76, 84, 7}}}};
  return manifest;
}

std::string fault(std::function<void(Manifest&)> const& spoil) {
  auto manifest = sample();
  spoil(manifest);
  auto const parsed = parse_manifest(to_json(manifest), "m");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().what.starts_with("m: "));
  INFO(parsed.error().what);
  return parsed.error().what;
}

bool has(std::string const& text, char const* part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a manifest is read back as it was written", "[checkpoint]") {
  auto const text = to_json(sample());
  auto const parsed = parse_manifest(text, "m");
  REQUIRE(parsed);
  CHECK(to_json(*parsed) == text);
  CHECK(parsed->model[0].chunks[1].offsets == std::vector<std::int64_t>{2, 0});
  CHECK(parsed->files[1].crc32 == 4294967295U);
}

TEST_CASE("every element must lie in exactly one chunk", "[checkpoint]") {
  CHECK(has(fault([](Manifest& m) { m.model[0].chunks.pop_back(); }), "4 elements in no chunk"));
  CHECK(has(fault([](Manifest& m) { m.model[0].chunks[1].offsets = {1, 0}; }), "same elements"));
  CHECK(has(fault([](Manifest& m) { m.model[0].chunks[1].offsets = {3, 0}; }), "outside of it"));
  CHECK(has(fault([](Manifest& m) { m.model[0].chunks[1].offsets = {2}; }), "dimensions"));
  CHECK(has(fault([](Manifest& m) { m.model[0].chunks[1].end = 99; }), "bytes do not fit"));
}

TEST_CASE("chunks must lie in files of the checkpoint's own folder", "[checkpoint]") {
  CHECK(has(fault([](Manifest& m) { m.files[0].bytes = 99; }), "outside of file"));
  CHECK(has(fault([](Manifest& m) { m.files.pop_back(); }), "outside of file"));
  CHECK(has(fault([](Manifest& m) { m.files[0].name = "../a.safetensors"; }), "plain file name"));
  CHECK(has(fault([](Manifest& m) { m.files[0].name = ""; }), "plain file name"));
}

TEST_CASE("another format's manifest is refused with both numbers", "[checkpoint]") {
  auto const text = fault([](Manifest& m) { m.format = 2; });
  CHECK(has(text, "format 2, this build reads 1"));
}

TEST_CASE("a manifest cut anywhere, or of other JSON, is refused", "[checkpoint]") {
  auto const text = to_json(sample());
  for (std::size_t cut = 0; cut + 1 < text.size(); ++cut)
    CHECK_FALSE(parse_manifest(text.substr(0, cut), "m"));
  for (auto const* other : {"[]", "3", "null", "{}", R"({"format":1})", R"({"format":"1"})"})
    CHECK_FALSE(parse_manifest(other, "m"));
}

}  // namespace muster::worker
