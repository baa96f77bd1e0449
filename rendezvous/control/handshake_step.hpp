// SPDX-License-Identifier: Apache-2.0
#pragma once
// One side of a connection's opening: bytes come in, bytes go out, until both sides are known to
// each other or one refuses. The host proves itself only to a caller who has done so, so that
// calling a port gives nobody anything to guess the token from.

#include "rendezvous/base/result.hpp"
#include "rendezvous/control/fault.hpp"
#include "rendezvous/control/handshake.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster::control {

// What one side brings, and how far it is.
struct Handshake {
  Role role = Role::caller;
  Opening own;               // the nonce in it was never used before
  std::string token;         // empty: none
  Mac mac;                   // with a token only
  bool over_tls = false;     // then `said.binding` is set before the first byte comes in
  std::string peer_address;  // for people

  enum class Phase { opening, proof, done, failed };
  Phase phase = Phase::opening;
  Opening peer;       // known once the phase is past `opening`
  std::string input;  // not used yet; when done: the first frames
  Transcript said;
};

struct HandshakeStep {
  std::string send;
  Fault fault = Fault::none;   // if it failed,
  std::optional<Error> error;  // and how to say so
};

// What this side sends at once. Once, first.
std::string begin_handshake(Handshake& state);

// More bytes of the peer; afterwards state.phase says whether this was the last step. A refusal may
// come with bytes that the peer should still be sent.
HandshakeStep handshake_step(Handshake& state, std::string_view bytes);

// "host X" once its opening was read, its address before.
std::string peer_text(Handshake const& state);

}  // namespace muster::control
