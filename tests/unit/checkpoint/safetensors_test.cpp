// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/safetensors.hpp"

#include "rendezvous/base/bytes.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

std::string file_of(std::string const& header, std::string const& data) {
  std::string file;
  ByteWriter writer(file);
  writer.sized(header);
  writer.raw(data);
  return file;
}

Result<SafetensorsHeader> parse(std::string const& file) {
  return parse_safetensors(file, file.size(), "f");
}

std::string fault(std::string const& header, std::string const& data) {
  auto const parsed = parse(file_of(header, data));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().what.starts_with("f: "));
  return parsed.error().what;
}

}  // namespace

TEST_CASE("a planned file is parsed back, widest elements first", "[checkpoint]") {
  std::vector<NamedTensor> const tensors{{"b", Tensor::zeros(Shape{3}, DType::u8)},
                                         {"z", Tensor::zeros(Shape{2, 3})},
                                         {"a", Tensor::zeros(Shape{})},
                                         {"n", Tensor::zeros(Shape{1}, DType::i64)}};
  auto const plan = plan_safetensors(tensors, {{"format", "pt"}});
  CHECK(plan.order == std::vector<std::size_t>{3, 2, 1, 0});
  CHECK(plan.head.size() % 8 == 0);
  auto const file = plan.head + std::string(8 + 4 + 24 + 3, 'x');
  auto const parsed = parse(file);
  REQUIRE(parsed);
  REQUIRE(parsed->entries.size() == 4);
  CHECK(parsed->metadata.at("format") == "pt");
  for (std::size_t i = 0; i < 4; ++i) {
    auto const& entry = parsed->entries[i];
    CHECK(entry.name == tensors[plan.order[i]].name);
    CHECK(entry.shape == tensors[plan.order[i]].tensor.shape);
    CHECK(entry.dtype == tensors[plan.order[i]].tensor.dtype);
    CHECK(entry.begin == plan.entries[i].begin);
    CHECK(entry.end == plan.entries[i].end);
  }
  CHECK(parsed->entries[3].end == file.size());
}

TEST_CASE("a file without tensors is possible", "[checkpoint]") {
  CHECK(parse(plan_safetensors({}, {}).head));
}

TEST_CASE("a file cut anywhere, or longer than its header says, is refused", "[checkpoint]") {
  std::vector<NamedTensor> const tensors{{"w", Tensor::zeros(Shape{2, 2})}};
  auto const file = plan_safetensors(tensors, {}).head + std::string(16, '\1');
  REQUIRE(parse(file));
  for (std::size_t cut = 0; cut < file.size(); ++cut) CHECK_FALSE(parse(file.substr(0, cut)));
  CHECK_FALSE(parse(file + "x"));
}

TEST_CASE("headers that contradict themselves are told apart", "[checkpoint]") {
  auto const has = [](std::string const& text, char const* part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(fault("[1]", ""), "no JSON object"));
  CHECK(has(fault("{\"a\":", ""), "no JSON object"));
  auto const entry = std::string(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])");
  CHECK(parse(file_of("{\"a\":{" + entry + "}}", "1234")));
  CHECK(has(fault("{\"a\":{" + entry + "},\"a\":{" + entry + "}}", "1234"), "twice"));
  CHECK(has(fault("{\"a\":{" + entry + "},\"b\":{" + entry + "}}", "1234"), "begins at byte 0"));
  CHECK(has(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
            "do not fit its shape [2]"));
  CHECK(has(fault(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678"),
            "begins at byte 4"));
  CHECK(has(fault(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
            "impossible shape"));
  CHECK(has(fault(R"({"a":{"dtype":"F32","shape":[4294967295,4294967295,4294967295],)"
                  R"("data_offsets":[0,4]}})",
                  "1234"),
            "impossible shape"));
  CHECK(has(fault(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "1234"), "BF16"));
  CHECK(has(fault(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "dtype, shape"));
  CHECK(has(fault(R"({"__metadata__":{"a":1}})", ""), "strings"));
}

TEST_CASE("a header that announces gigabytes is refused before it is read", "[checkpoint]") {
  std::string file;
  ByteWriter(file).number<std::uint64_t>(1ULL << 40);
  auto const refused = parse_safetensors(file, 1ULL << 50, "f");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("exceeds the limit") != std::string::npos);
}

}  // namespace muster::worker
