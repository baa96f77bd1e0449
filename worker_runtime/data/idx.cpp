// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/idx.hpp"

#include "rendezvous/base/unique_fd.hpp"
#include "worker_runtime/data/gzip.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::worker {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;

Error corrupt(std::string const& name, std::string const& seen) {
  return Error{Errc::corrupt, name + ": " + seen, "copy or download the file again"};
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

struct Header {
  Shape shape;
  std::size_t bytes = 0;
};

Result<Header> parse_header(std::string_view bytes, std::string const& name) {
  if (bytes.size() < 4) return corrupt(name, "ends inside the IDX magic number");
  auto const type = static_cast<std::uint8_t>(bytes[2]);
  auto const dims = static_cast<std::uint8_t>(bytes[3]);
  if (bytes[0] != 0 || bytes[1] != 0)
    return Error{Errc::bad_input, name + ": not an IDX file (it does not begin with two zeros)",
                 "name a folder with MNIST's IDX files"};
  if (type != kUnsignedByte)
    return Error{
        Errc::unsupported,
        name + ": IDX element type " + std::to_string(type) + ", only unsigned bytes (8) are read",
        "convert the file to unsigned bytes"};
  if (dims < 1 || dims > Shape::kMaxDims)
    return corrupt(name, std::to_string(dims) + " dimensions, from 1 to 6 are possible");
  auto const header_bytes = std::size_t{4} + std::size_t{4} * dims;
  if (bytes.size() < header_bytes) return corrupt(name, "ends inside the IDX header");
  std::array<std::int64_t, Shape::kMaxDims> sizes{};
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < dims; ++i) {
    sizes[i] = big_endian(bytes.substr(4 + 4 * i));
    // No overflow: both factors are below 2^32.
    elements *= static_cast<std::uint64_t>(sizes[i]);
    if (elements > kMaxIdxBytes)
      return Error{Errc::limit,
                   name + ": its header announces more than " + std::to_string(kMaxIdxBytes) +
                       " bytes, the limit",
                   "split the data set"};
  }
  return Header{Shape(std::span(sizes.data(), dims)), header_bytes};
}

Result<std::string> read_whole(std::string const& path) {
  UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return from_errno(errno, "open " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return from_errno(errno, "stat " + path);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::bad_input, path + ": not a regular file", "name an IDX file"};
  if (static_cast<std::size_t>(status.st_size) > kMaxIdxBytes + 64)
    return Error{Errc::limit, path + ": larger than " + std::to_string(kMaxIdxBytes) + " bytes",
                 "split the data set"};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    auto const got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return from_errno(errno, "read " + path);
    if (got == 0) return corrupt(path, "became shorter while it was read");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<Tensor> parse_idx(std::string_view bytes, std::string const& name) {
  MUSTER_TRY(auto const header, parse_header(bytes, name));
  auto const expected = static_cast<std::size_t>(header.shape.elements());
  auto const present = bytes.size() - header.bytes;
  if (present != expected)
    return corrupt(name, std::to_string(present) + " bytes of elements, its header announces " +
                             std::to_string(expected));
  auto tensor = Tensor::zeros(header.shape, DType::u8);
  if (expected > 0) std::memcpy(tensor.data(), bytes.data() + header.bytes, expected);
  return tensor;
}

Result<Tensor> read_idx(std::string const& path) {
  MUSTER_TRY(auto bytes, read_whole(path));
  if (!is_gzip(bytes)) return parse_idx(bytes, path);
  auto plain = gunzip(bytes, kMaxIdxBytes + 64);
  if (!plain)
    return Error{plain.error().code, path + ": " + plain.error().what, plain.error().hint};
  return parse_idx(*plain, path);
}

}  // namespace muster::worker
