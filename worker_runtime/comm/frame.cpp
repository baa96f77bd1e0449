// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/frame.hpp"

#include "rendezvous/base/bytes.hpp"

#include <bit>

namespace muster::worker {
namespace {

constexpr std::uint32_t kMagic = 0x4454534DU;  // "MSTD"

template <class E>
bool read_enum(ByteReader& reader, E& value, E last) {
  auto const raw = reader.number<std::uint8_t>();
  if (!raw || *raw > static_cast<std::uint8_t>(last)) return false;
  value = static_cast<E>(*raw);
  return true;
}

}  // namespace

FrameBytes encode(FrameHeader const& header) {
  std::string text;
  text.reserve(kFrameHeaderBytes);
  ByteWriter writer(text);
  auto const& signature = header.signature;
  writer.number(kMagic);
  writer.number(static_cast<std::uint8_t>(signature.kind));
  writer.number(static_cast<std::uint8_t>(signature.op));
  writer.number(static_cast<std::uint8_t>(signature.dtype));
  writer.number(static_cast<std::uint8_t>(header.algorithm));
  writer.number(header.sequence);
  writer.number(signature.elements);
  writer.number(signature.root);
  writer.number(signature.counts_hash);
  writer.number(std::bit_cast<std::uint64_t>(signature.factor));
  writer.number(header.round);
  writer.number(std::uint16_t{0});
  writer.number(header.length);
  writer.number(header.offset);
  FrameBytes bytes;
  MUSTER_ASSERT(text.size() == bytes.size(), "a frame header has its fixed size");
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

Result<FrameHeader> decode_frame(FrameBytes const& bytes) {
  ByteReader reader(std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size()));
  Error const bad{Errc::protocol, "bytes from a peer are no muster frame", {}};
  FrameHeader header;
  auto& signature = header.signature;
  if (reader.number<std::uint32_t>() != kMagic) return bad;
  if (!read_enum(reader, signature.kind, OpKind::barrier) ||
      !read_enum(reader, signature.op, ReduceOp::max) ||
      !read_enum(reader, signature.dtype, DType::u8) ||
      !read_enum(reader, header.algorithm, Algorithm::dissemination))
    return bad;
  header.sequence = *reader.number<std::uint64_t>();
  signature.elements = *reader.number<std::int64_t>();
  signature.root = *reader.number<std::int32_t>();
  signature.counts_hash = *reader.number<std::uint32_t>();
  signature.factor = std::bit_cast<double>(*reader.number<std::uint64_t>());
  header.round = *reader.number<std::uint16_t>();
  if (*reader.number<std::uint16_t>() != 0) return bad;
  header.length = *reader.number<std::uint32_t>();
  header.offset = *reader.number<std::uint64_t>();
  if (header.length > kMaxSegmentBytes || signature.elements < 0) return bad;
  return header;
}

}  // namespace muster::worker
