// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/manifest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>

namespace muster::worker {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;  // of one dimension; products stay checked

Json json_of(std::vector<ManifestTensor> const& tensors) {
  auto all = Json::object();
  for (auto const& tensor : tensors) {
    auto chunks = Json::array();
    for (auto const& chunk : tensor.chunks)
      chunks.push_back({{"offsets", chunk.offsets},
                        {"sizes", chunk.sizes},
                        {"file", chunk.file},
                        {"bytes", {chunk.begin, chunk.end}},
                        {"crc32", chunk.crc32}});
    auto const sizes = tensor.shape.sizes();
    all[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                        {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())},
                        {"chunks", std::move(chunks)}};
  }
  return all;
}

// Reads fields of one JSON object and remembers the first that is missing or of another kind.
class Fields {
 public:
  Fields(Json const& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::uint64_t number(char const* key) {
    auto const* found = find(key);
    if (found != nullptr && found->is_number_unsigned()) return found->get<std::uint64_t>();
    miss(key, "a number");
    return 0;
  }
  std::string text(char const* key) {
    auto const* found = find(key);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
    miss(key, "a text");
    return "";
  }
  std::vector<std::int64_t> sizes(char const* key) {
    std::vector<std::int64_t> values;
    auto const* found = find(key);
    auto const fits = [](Json const& size) {
      return size.is_number_unsigned() && size.get<std::uint64_t>() <= std::uint64_t{kMaxSize};
    };
    if (found != nullptr && found->is_array() && found->size() <= Shape::kMaxDims &&
        std::all_of(found->begin(), found->end(), fits))
      return found->get<std::vector<std::int64_t>>();
    miss(key, "a list of at most 6 sizes");
    return {};
  }
  Json const& nested(char const* key, bool array) {
    static Json const kNothing;
    auto const* found = find(key);
    if (found != nullptr && (array ? found->is_array() : found->is_object())) return *found;
    miss(key, array ? "a list" : "an object");
    return kNothing;
  }
  void miss(std::string const& key, std::string const& expected) {
    if (!error_)
      error_ = Error{Errc::corrupt, where_ + ": \"" + key + "\" is not " + expected,
                     "use an earlier checkpoint"};
  }
  std::optional<Error> const& error() const { return error_; }

 private:
  Json const* find(char const* key) const {
    auto const found = object_.is_object() ? object_.find(key) : object_.end();
    return found == object_.end() ? nullptr : &*found;
  }

  Json const& object_;
  std::string where_;
  std::optional<Error> error_;
};

std::optional<std::int64_t> volume(std::span<std::int64_t const> sizes) {
  std::int64_t product = 1;
  for (auto const size : sizes) {
    if (size != 0 && product > kMaxSize / size) return std::nullopt;
    product *= size;
  }
  return product;
}

bool overlap(ManifestChunk const& a, ManifestChunk const& b) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.offsets[i] + a.sizes[i] <= b.offsets[i] || b.offsets[i] + b.sizes[i] <= a.offsets[i])
      return false;
  return true;
}

// Every element in exactly one chunk: inside, pairwise apart, and together as many as the tensor.
std::string coverage_fault(ManifestTensor const& tensor) {
  auto const whole = volume(tensor.shape.sizes());
  if (!whole) return "is larger than can be";
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
    auto const& chunk = tensor.chunks[i];
    if (chunk.offsets.size() != tensor.shape.dims() || chunk.sizes.size() != tensor.shape.dims())
      return "has a chunk with another number of dimensions";
    for (std::size_t d = 0; d < chunk.sizes.size(); ++d)
      if (chunk.offsets[d] + chunk.sizes[d] > tensor.shape[d]) return "has a chunk outside of it";
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(chunk, tensor.chunks[j]) && *volume(chunk.sizes) > 0)
        return "has two chunks with the same elements";
    covered += *volume(chunk.sizes);
    auto const bytes = static_cast<std::uint64_t>(*volume(chunk.sizes)) * bytes_of(tensor.dtype);
    if (chunk.end < chunk.begin || chunk.end - chunk.begin != bytes)
      return "has a chunk whose bytes do not fit its sizes";
  }
  if (covered != *whole) return "has " + std::to_string(*whole - covered) + " elements in no chunk";
  return "";
}

Result<ManifestTensor> parse_tensor(std::string const& tensor, Json const& said,
                                    std::string const& name) {
  auto const where = name + ": tensor " + tensor;
  Fields fields(said, where);
  ManifestTensor parsed{tensor, DType::f32, Shape{}, {}};
  auto const dtype = fields.text("dtype");
  auto const known = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8};
  auto const* const found =
      std::find_if(known.begin(), known.end(), [&](DType each) { return name_of(each) == dtype; });
  if (found == known.end())
    fields.miss("dtype", "a supported type");
  else
    parsed.dtype = *found;
  auto const sizes = fields.sizes("shape");
  parsed.shape = Shape(std::span(sizes.data(), sizes.size()));
  for (auto const& chunk : fields.nested("chunks", true)) {
    Fields inner(chunk, where);
    ManifestChunk made{inner.sizes("offsets"), inner.sizes("sizes"), inner.text("file"), 0, 0, 0};
    auto const& bytes = inner.nested("bytes", true);
    if (bytes.size() != 2 || !bytes[0].is_number_unsigned() || !bytes[1].is_number_unsigned()) {
      inner.miss("bytes", "two numbers");
    } else {
      made.begin = bytes[0].get<std::uint64_t>();
      made.end = bytes[1].get<std::uint64_t>();
    }
    made.crc32 = static_cast<std::uint32_t>(inner.number("crc32"));
    if (inner.error()) return *inner.error();
    parsed.chunks.push_back(std::move(made));
  }
  if (fields.error()) return *fields.error();
  if (auto const fault = coverage_fault(parsed); !fault.empty())
    return Error{Errc::corrupt, where + " " + fault, "use an earlier checkpoint"};
  return parsed;
}

Result<void> parse_tensors(Json const& said, std::string const& name,
                           std::vector<ManifestTensor>& into) {
  for (auto const& [key, value] : said.items()) {
    MUSTER_TRY(auto tensor, parse_tensor(key, value, name));
    into.push_back(std::move(tensor));
  }
  return ok();
}

Result<void> parse_files(Json const& said, std::string const& name, Manifest& manifest) {
  for (auto const& file : said) {
    Fields inner(file, name);
    ManifestFile made{inner.text("name"), inner.number("bytes"),
                      static_cast<std::uint32_t>(inner.number("crc32"))};
    // A manifest must not lead out of its folder.
    if (made.name.empty() || made.name.find('/') != std::string::npos || made.name[0] == '.')
      inner.miss("name", "a plain file name");
    if (inner.error()) return *inner.error();
    manifest.files.push_back(std::move(made));
  }
  return ok();
}

Result<void> check_files(Manifest const& manifest, std::string const& name) {
  std::map<std::string, std::uint64_t> sizes;
  for (auto const& file : manifest.files) sizes.emplace(file.name, file.bytes);
  for (auto const* tensors : {&manifest.model, &manifest.optimizer})
    for (auto const& tensor : *tensors)
      for (auto const& chunk : tensor.chunks) {
        auto const file = sizes.find(chunk.file);
        if (file == sizes.end() || chunk.end > file->second)
          return Error{Errc::corrupt,
                       name + ": tensor " + tensor.name + " lies outside of file " + chunk.file,
                       "use an earlier checkpoint"};
      }
  return ok();
}

}  // namespace

std::string to_json(Manifest const& manifest) {
  auto files = Json::array();
  for (auto const& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"crc32", file.crc32}});
  Json const whole{{"format", manifest.format},
                   {"world", manifest.world},
                   {"step", manifest.step},
                   {"round", manifest.round},
                   {"fingerprint", manifest.fingerprint},
                   {"files", std::move(files)},
                   {"model", json_of(manifest.model)},
                   {"optimizer", json_of(manifest.optimizer)}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text, std::string const& name) {
  auto const said = Json::parse(text, nullptr, false);
  if (said.is_discarded() || !said.is_object())
    return Error{Errc::corrupt, name + ": no JSON object", "use an earlier checkpoint"};
  Fields fields(said, name);
  auto const format = fields.number("format");
  if (fields.error()) return *fields.error();
  if (format != kCheckpointFormat)
    return Error{Errc::unsupported,
                 name + ": checkpoint format " + std::to_string(format) + ", this build reads " +
                     std::to_string(kCheckpointFormat),
                 "read it with the muster that wrote it"};
  Manifest manifest;
  manifest.world = static_cast<int>(std::min<std::uint64_t>(fields.number("world"), 1U << 30));
  manifest.step = fields.number("step");
  manifest.round = fields.number("round");
  manifest.fingerprint = fields.text("fingerprint");
  auto const& files = fields.nested("files", true);
  auto const& model = fields.nested("model", false);
  auto const& optimizer = fields.nested("optimizer", false);
  if (fields.error()) return *fields.error();
  MUSTER_CHECK(parse_files(files, name, manifest));
  MUSTER_CHECK(parse_tensors(model, name, manifest.model));
  MUSTER_CHECK(parse_tensors(optimizer, name, manifest.optimizer));
  MUSTER_CHECK(check_files(manifest, name));
  return manifest;
}

}  // namespace muster::worker
