// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace muster::worker {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

struct InflateEnd {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};
using Inflater = std::unique_ptr<z_stream, InflateEnd>;

// Inflates one member from the front of `left`, which then begins behind it.
Result<void> append_member(std::string_view& left, std::size_t limit_bytes, std::string& plain) {
  Inflater stream(new z_stream{});
  if (inflateInit2(stream.get(), kGzipOnly) != Z_OK)
    return Error{Errc::system, "zlib cannot start", ""};
  std::array<char, 1 << 16> chunk;
  for (;;) {
    if (stream->avail_in == 0) {
      auto const feed = std::min<std::size_t>(left.size(), std::numeric_limits<uInt>::max());
      stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
      stream->avail_in = static_cast<uInt>(feed);
      left.remove_prefix(feed);
    }
    stream->next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream->avail_out = static_cast<uInt>(chunk.size());
    auto const status = inflate(stream.get(), Z_NO_FLUSH);
    plain.append(chunk.data(), chunk.size() - stream->avail_out);
    if (plain.size() > limit_bytes)
      return Error{Errc::limit,
                   "unpacks to more than " + std::to_string(limit_bytes) + " bytes, the limit", ""};
    if (status == Z_STREAM_END) break;
    if (status == Z_BUF_ERROR)  // no input left, nothing to put out
      return Error{Errc::corrupt, "the gzip stream is cut off", "copy or download it again"};
    if (status != Z_OK)
      return Error{Errc::corrupt,
                   std::string("the gzip stream is damaged: ") +
                       (stream->msg != nullptr ? stream->msg : zError(status)),
                   "copy or download it again"};
  }
  auto const unread = static_cast<std::size_t>(stream->avail_in);
  left = std::string_view(left.data() - unread, left.size() + unread);
  return ok();
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

Result<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes) {
  std::string plain;
  do {
    if (!is_gzip(bytes))
      return Error{Errc::corrupt,
                   plain.empty() ? "no gzip stream"
                                 : std::to_string(bytes.size()) + " bytes after the gzip stream",
                   "copy or download it again"};
    MUSTER_CHECK(append_member(bytes, limit_bytes, plain));
  } while (!bytes.empty());
  return plain;
}

}  // namespace muster::worker
