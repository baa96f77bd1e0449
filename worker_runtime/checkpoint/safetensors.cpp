// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/safetensors.hpp"

#include "rendezvous/base/bytes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace muster::worker {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxElements = 1ULL << 48;  // of a tensor: its bytes still fit 64 bits
constexpr char kMetadata[] = "__metadata__";

Error corrupt(std::string const& name, std::string const& seen) {
  return Error{Errc::corrupt, name + ": " + seen, "use an earlier checkpoint"};
}

std::optional<DType> dtype_named(std::string const& name) {
  for (auto const dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8})
    if (name_of(dtype) == name) return dtype;
  return std::nullopt;
}

// The header as JSON. A name given twice would silently hide a tensor, so it is an error.
Result<Json> parse_header(std::string_view text, std::string const& name) {
  std::set<std::string> names;
  bool twice = false;
  auto const watch = [&](int depth, Json::parse_event_t event, Json& key) {
    if (event == Json::parse_event_t::key && depth == 1)
      twice = !names.insert(key.get<std::string>()).second || twice;
    return true;
  };
  auto header = Json::parse(text, watch, false);
  if (header.is_discarded() || !header.is_object())
    return corrupt(name, "its safetensors header is no JSON object");
  if (twice) return corrupt(name, "its safetensors header names a tensor twice");
  return header;
}

Result<Shape> parse_shape(Json const& sizes, std::string const& where) {
  if (!sizes.is_array() || sizes.size() > Shape::kMaxDims)
    return Error{Errc::corrupt, where + " has a shape that is no list of at most 6 sizes", ""};
  std::array<std::int64_t, Shape::kMaxDims> values{};
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto const size = sizes[i].is_number_unsigned() ? sizes[i].get<std::uint64_t>() : ~0ULL;
    if (size > kMaxElements || __builtin_mul_overflow(elements, size, &elements) ||
        elements > static_cast<std::int64_t>(kMaxElements))
      return Error{Errc::corrupt, where + " has an impossible shape", ""};
    values[i] = static_cast<std::int64_t>(size);
  }
  return Shape(std::span(values.data(), sizes.size()));
}

Result<SafetensorsEntry> parse_entry(std::string const& tensor, Json const& said,
                                     std::string const& file) {
  auto const where = file + ": tensor " + tensor;
  if (!said.is_object() || said.size() != 3 || !said.contains("dtype") || !said.contains("shape") ||
      !said.contains("data_offsets") || !said["dtype"].is_string())
    return corrupt(where, "its entry is not dtype, shape and data_offsets");
  auto const dtype = dtype_named(said["dtype"].get<std::string>());
  if (!dtype)
    return Error{Errc::unsupported,
                 where + " is of type " + said["dtype"].dump() + ", which is not supported",
                 "convert it to F32"};
  MUSTER_TRY(auto const shape, parse_shape(said["shape"], where));
  auto const& offsets = said["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return corrupt(where, "data_offsets is not two numbers");
  SafetensorsEntry entry{tensor, *dtype, shape, offsets[0].get<std::uint64_t>(),
                         offsets[1].get<std::uint64_t>()};
  if (entry.end < entry.begin ||
      entry.end - entry.begin !=
          static_cast<std::uint64_t>(shape.elements()) * bytes_of(entry.dtype))
    return corrupt(where, "its bytes do not fit its shape " + to_string(shape));
  return entry;
}

Result<void> parse_metadata(Json const& said, std::string const& name,
                            std::map<std::string, std::string>& into) {
  if (!said.is_object()) return corrupt(name, "__metadata__ is no object");
  for (auto const& [key, value] : said.items()) {
    if (!value.is_string()) return corrupt(name, "__metadata__ holds something but strings");
    into.emplace(key, value.get<std::string>());
  }
  return ok();
}

// The entries must lie one behind another, from the header's end to the file's end.
Result<void> place(SafetensorsHeader& header, std::uint64_t data_begin, std::string const& name) {
  std::sort(header.entries.begin(), header.entries.end(), [](auto const& a, auto const& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t behind = 0;
  for (auto& entry : header.entries) {
    if (entry.begin != behind)
      return corrupt(name, "tensor " + entry.name + " begins at byte " +
                               std::to_string(entry.begin) + ", not at " + std::to_string(behind));
    behind = entry.end;
    if (behind > header.file_bytes) break;  // and no sum below can overflow
    entry.begin += data_begin;
    entry.end += data_begin;
  }
  if (behind != header.file_bytes - data_begin)
    return corrupt(name, "holds " + std::to_string(header.file_bytes - data_begin) +
                             " bytes of tensors, its header says " + std::to_string(behind));
  return ok();
}

}  // namespace

SafetensorsPlan plan_safetensors(std::span<NamedTensor const> tensors,
                                 std::map<std::string, std::string> const& metadata) {
  SafetensorsPlan plan;
  plan.order.resize(tensors.size());
  std::iota(plan.order.begin(), plan.order.end(), std::size_t{0});
  std::sort(plan.order.begin(), plan.order.end(), [&](std::size_t a, std::size_t b) {
    auto const wide_a = bytes_of(tensors[a].tensor.dtype);
    auto const wide_b = bytes_of(tensors[b].tensor.dtype);
    return wide_a != wide_b ? wide_a > wide_b : tensors[a].name < tensors[b].name;
  });
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t offset = 0;
  for (auto const index : plan.order) {
    auto const& [name, tensor] = tensors[index];
    auto const sizes = tensor.shape.sizes();
    header[name] = {{"dtype", name_of(tensor.dtype)},
                    {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    plan.entries.push_back({name, tensor.dtype, tensor.shape, offset, offset + tensor.bytes()});
    offset += tensor.bytes();
  }
  auto text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the tensors are aligned
  ByteWriter(plan.head).sized(text);
  for (auto& entry : plan.entries) {
    entry.begin += plan.head.size();
    entry.end += plan.head.size();
  }
  return plan;
}

Result<std::uint64_t> safetensors_head_bytes(std::string_view first, std::uint64_t file_bytes,
                                             std::string const& name) {
  auto const length = ByteReader(first).number<std::uint64_t>();
  if (!length) return corrupt(name, "ends inside the safetensors header's length");
  if (*length > kMaxSafetensorsHeader)
    return corrupt(name, "its header of " + std::to_string(*length) + " bytes exceeds the limit");
  if (*length + kLengthBytes > file_bytes)
    return corrupt(name, "ends inside the safetensors header");
  return *length + kLengthBytes;
}

Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_bytes,
                                            std::string const& name) {
  MUSTER_TRY(auto const head_bytes, safetensors_head_bytes(head, file_bytes, name));
  if (head.size() < head_bytes) return corrupt(name, "ends inside the safetensors header");
  MUSTER_TRY(auto const said,
             parse_header(head.substr(kLengthBytes, head_bytes - kLengthBytes), name));
  SafetensorsHeader header;
  header.file_bytes = file_bytes;
  for (auto const& [key, value] : said.items()) {
    if (key == kMetadata) {
      MUSTER_CHECK(parse_metadata(value, name, header.metadata));
      continue;
    }
    MUSTER_TRY(auto entry, parse_entry(key, value, name));
    header.entries.push_back(std::move(entry));
  }
  MUSTER_CHECK(place(header, head_bytes, name));
  return header;
}

}  // namespace muster::worker
