// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a control connection begins, as bytes. Each side sends its opening at once: the greeting
// (frame.hpp), then a length and what it says of itself. Where both have a job token the caller
// proves that it knows it, then the host does. The step machine is handshake_step.hpp.

#include "rendezvous/base/ids.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/control/mac.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::control {

inline constexpr std::size_t kNonceBytes = 32;
// Longer ones are cut in the opening, for people and for the proof alike.
inline constexpr std::size_t kMaxOpeningName = 255;
inline constexpr std::size_t kMaxOpeningRunId = 1'024;
inline constexpr std::size_t kMaxOpeningBody = 1 + kNonceBytes + sizeof(std::uint64_t) +
                                               2 * sizeof(std::uint16_t) + kMaxOpeningName +
                                               kMaxOpeningRunId;

// Which end of the connection: who called, or who was called. In every proof, so that none can be
// played back to its author.
enum class Role : std::uint8_t { caller, host };

struct Opening {
  bool asks_token = false;  // has a token, and refuses who has none
  bool asks_tls = false;    // has a certificate, and refuses plain connections
  std::string nonce = std::string(kNonceBytes, '\0');  // fresh with a token, zeros without
  Epoch epoch;                                         // the latest that this side knows
  std::string run_id;  // of the caller's job; empty at a host of many
  std::string name;    // of this machine, for people

  friend bool operator==(Opening const&, Opening const&) = default;
};

// Greeting, length and body.
std::string encode_opening(Opening const& opening);
// A body alone. The name comes out printable: it is shown to people before anything is proven.
Result<Opening> decode_opening_body(std::string_view body);

// An opening of a side without token and TLS: what may be written on a connection before anything
// is read from it.
std::string plain_opening(std::string name, std::string run_id);

// All that both sides have said before the proofs. `binding` belongs to the TLS session beneath
// (empty without): with it, two TLS sessions cannot be joined by somebody in between.
struct Transcript {
  std::string caller, host;  // their openings, every byte
  std::string binding;
};

// That `role` knows the token, here and now.
std::string proof_of(Role role, Mac const& mac, std::string_view token, Transcript const& said);
// The key of the frames that `role` sends on this connection.
std::string frame_key_of(Role role, Mac const& mac, std::string_view token, Transcript const& said);

}  // namespace muster::control
