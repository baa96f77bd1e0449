// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/handshake.hpp"

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/control/frame.hpp"

#include <array>

namespace muster::control {
namespace {

constexpr std::uint8_t kAsksToken = 1, kAsksTls = 2;

void write_text(ByteWriter& writer, std::string_view text) {
  writer.number(static_cast<std::uint16_t>(text.size()));
  writer.raw(text);
}

std::optional<std::string> read_text(ByteReader& reader, std::size_t most) {
  auto const size = reader.number<std::uint16_t>();
  if (!size || *size > most) return std::nullopt;
  auto const text = reader.take(*size);
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::string printable(std::string text) {
  for (auto& each : text)
    if (each < '!' || each > '~') each = '?';
  return text;
}

// A label is as long for either role, and every other part has its length before it: no two
// different transcripts give the same bytes.
std::string mac_of(std::string_view label, Mac const& mac, std::string_view token,
                   Transcript const& said) {
  std::string lengths;
  ByteWriter writer(lengths);
  for (auto const* part : {&said.caller, &said.host, &said.binding})
    writer.number(static_cast<std::uint32_t>(part->size()));
  std::array<std::string_view, 5> const parts{label, lengths, said.caller, said.host, said.binding};
  return mac(token, parts);
}

}  // namespace

std::string encode_opening(Opening const& opening) {
  std::string body;
  ByteWriter writer(body);
  auto const flags = (opening.asks_token ? kAsksToken : 0u) | (opening.asks_tls ? kAsksTls : 0u);
  writer.number(static_cast<std::uint8_t>(flags));
  writer.raw(opening.nonce);
  writer.number(opening.epoch.value);
  write_text(writer, std::string_view(opening.run_id).substr(0, kMaxOpeningRunId));
  write_text(writer, std::string_view(opening.name).substr(0, kMaxOpeningName));
  auto bytes = greeting();
  ByteWriter(bytes).number(static_cast<std::uint16_t>(body.size()));
  return bytes + body;
}

Result<Opening> decode_opening_body(std::string_view body) {
  Error const wrong{Errc::protocol, "the peer's opening is no opening of this protocol version",
                    ""};
  ByteReader reader(body);
  Opening opening;
  auto const flags = reader.number<std::uint8_t>();
  if (!flags || *flags > (kAsksToken | kAsksTls)) return wrong;
  opening.asks_token = (*flags & kAsksToken) != 0;
  opening.asks_tls = (*flags & kAsksTls) != 0;
  auto const nonce = reader.take(kNonceBytes);
  auto const epoch = reader.number<std::uint64_t>();
  auto run_id = read_text(reader, kMaxOpeningRunId);
  auto name = read_text(reader, kMaxOpeningName);
  if (!nonce || !epoch || !run_id || !name || reader.left() != 0) return wrong;
  opening.nonce = *nonce;
  opening.epoch = Epoch{*epoch};
  opening.run_id = *std::move(run_id);
  opening.name = printable(*std::move(name));
  return opening;
}

std::string plain_opening(std::string name, std::string run_id) {
  Opening opening;
  opening.name = std::move(name);
  opening.run_id = std::move(run_id);
  return encode_opening(opening);
}

std::string proof_of(Role role, Mac const& mac, std::string_view token, Transcript const& said) {
  return mac_of(role == Role::caller ? "muster proof caller\n" : "muster proof host..\n", mac,
                token, said);
}

std::string frame_key_of(Role role, Mac const& mac, std::string_view token,
                         Transcript const& said) {
  return mac_of(role == Role::caller ? "muster key.. caller\n" : "muster key.. host..\n", mac,
                token, said);
}

}  // namespace muster::control
