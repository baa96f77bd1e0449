// SPDX-License-Identifier: Apache-2.0
// Greeting and frames.

#include "rendezvous/control/frame.hpp"

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/base/limits.hpp"

namespace muster::control {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kKeptBytes = 1024;  // between messages

}  // namespace

std::string greeting() {
  std::string bytes(kMagic);
  bytes.push_back(static_cast<char>(kProtocolVersion));
  bytes.push_back('\n');
  return bytes;
}

Result<std::uint8_t> read_greeting(std::string_view bytes) {
  if (bytes.size() != kGreetingBytes || !bytes.starts_with(kMagic) || bytes.back() != '\n')
    return Error{Errc::protocol, "the peer does not speak muster's control protocol", ""};
  return static_cast<std::uint8_t>(bytes[kMagic.size()]);
}

Error version_mismatch(std::uint8_t version, std::string const& peer, std::string const& self) {
  auto const older = version < kProtocolVersion ? peer : self;
  return {Errc::refused,
          "host " + peer + " speaks control protocol " + std::to_string(version) + ", host " +
              self + " speaks " + std::to_string(kProtocolVersion),
          "install the newer muster on host " + older};
}

std::string frame(std::string_view body, std::string_view tag) {
  std::string bytes;
  bytes.reserve(kLengthBytes + body.size() + tag.size());
  ByteWriter writer(bytes);
  writer.number(static_cast<std::uint32_t>(body.size()));
  writer.raw(body);
  writer.raw(tag);
  return bytes;
}

Result<std::optional<std::string>> FrameReader::next() {
  ByteReader reader(std::string_view(buffer_).substr(taken_));
  auto const length = reader.number<std::uint32_t>();
  if (!length) return std::optional<std::string>{};
  if (*length == 0 || *length > limits::kMaxControlBytes)
    return Error{Errc::limit,
                 "a control message of " + std::to_string(*length) + " bytes; allowed are 1 to " +
                     std::to_string(limits::kMaxControlBytes),
                 ""};
  auto const body = reader.take(*length + tag_bytes_);
  if (!body) return std::optional<std::string>{};
  std::optional<std::string> whole(std::in_place, *body);
  taken_ += kLengthBytes + *length + tag_bytes_;
  if (taken_ == buffer_.size()) {
    buffer_.clear();
    if (buffer_.capacity() > kKeptBytes) buffer_.shrink_to_fit();
    taken_ = 0;
  } else if (taken_ > buffer_.size() / 2) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
  return whole;
}

std::size_t FrameReader::wanted() const {
  auto const left = buffer_.size() - taken_;
  ByteReader reader(std::string_view(buffer_).substr(taken_));
  auto const length = reader.number<std::uint32_t>();
  auto const whole = length ? kLengthBytes + *length + tag_bytes_ : kLengthBytes;
  return whole > left ? whole - left : 1;
}

}  // namespace muster::control
