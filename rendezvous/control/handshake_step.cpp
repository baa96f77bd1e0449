// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/handshake_step.hpp"

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/control/frame.hpp"

namespace muster::control {
namespace {

constexpr char kProof = 'P', kRefusal = 'R';
constexpr std::size_t kLengthBytes = sizeof(std::uint16_t);

HandshakeStep fail(Handshake& state, Fault fault, Error error) {
  state.phase = Handshake::Phase::failed;
  state.input.clear();
  return {{}, fault, std::move(error)};
}

HandshakeStep refuse(Handshake& state, Fault fault, std::string what, std::string hint) {
  return fail(state, fault, {Errc::refused, std::move(what), std::move(hint)});
}

Error foreign(Handshake const& state) {
  if (state.role == Role::host)
    return {Errc::protocol, state.peer_address + " does not speak muster's control protocol", ""};
  return {Errc::protocol,
          "what listens at " + state.peer_address + " does not speak muster's control protocol",
          "the endpoint must be a muster's or a musterd's: check host and port"};
}

Role other(Role role) {
  return role == Role::caller ? Role::host : Role::caller;
}

std::string own_proof(Handshake const& state) {
  return kProof + proof_of(state.role, state.mac, state.token, state.said);
}

bool proves_itself(Handshake const& state, std::string_view proof) {
  return same_secret(proof, proof_of(other(state.role), state.mac, state.token, state.said));
}

// Both openings are read: do the two sides want the same?
std::optional<HandshakeStep> judge(Handshake& state) {
  auto const who = peer_text(state);
  if (state.own.asks_tls && !state.over_tls)
    return refuse(state, Fault::tls, who + " speaks without TLS; this node asks for it",
                  "give --tls-cert, --tls-key and --tls-ca on both, or on neither");
  if (state.peer.asks_tls && !state.over_tls)
    return refuse(state, Fault::tls, who + " asks for TLS; this node has no certificate",
                  "give --tls-cert, --tls-key and --tls-ca");
  if (state.peer.asks_token && !state.own.asks_token)
    return refuse(state, Fault::no_token, who + " asks for a job token; this node has none",
                  "set MUSTER_TOKEN, or give --token-file");
  if (state.own.asks_token && !state.peer.asks_token)
    return refuse(state, Fault::no_token, who + " has no job token; this node asks for one",
                  "set the same MUSTER_TOKEN there, or unset it here");
  if (state.own.asks_token && state.peer.nonce == state.own.nonce)
    return refuse(state, Fault::token, who + " sent this node's own opening back",
                  "something between the two reflects the connection");
  return std::nullopt;
}

// Nothing while the peer's opening is incomplete.
std::optional<HandshakeStep> read_opening(Handshake& state) {
  auto const input = std::string_view(state.input);
  if (!kMagic.starts_with(input.substr(0, kMagic.size())))
    return fail(state, Fault::foreign, foreign(state));
  if (input.size() < kGreetingBytes) return std::nullopt;
  auto const version = read_greeting(input.substr(0, kGreetingBytes));
  if (!version) return fail(state, Fault::foreign, foreign(state));
  if (*version != kProtocolVersion)
    return fail(state, Fault::version,
                version_mismatch(*version, state.peer_address, state.own.name));
  ByteReader reader(input.substr(kGreetingBytes));
  auto const size = reader.number<std::uint16_t>();
  if (!size) return std::nullopt;
  if (*size > kMaxOpeningBody)
    return fail(state, Fault::limit,
                {Errc::limit,
                 "an opening of " + std::to_string(*size) + " bytes; allowed are " +
                     std::to_string(kMaxOpeningBody),
                 ""});
  auto const body = reader.take(*size);
  if (!body) return std::nullopt;
  auto peer = decode_opening_body(*body);
  if (!peer) return fail(state, Fault::protocol, std::move(peer).error());
  state.peer = *std::move(peer);
  auto const whole = kGreetingBytes + kLengthBytes + *size;
  (state.role == Role::caller ? state.said.host : state.said.caller) = input.substr(0, whole);
  state.input.erase(0, whole);
  if (auto refusal = judge(state)) return refusal;
  if (!state.own.asks_token) {
    state.phase = Handshake::Phase::done;
    return HandshakeStep{};
  }
  state.phase = Handshake::Phase::proof;
  HandshakeStep step;
  if (state.role == Role::caller) step.send = own_proof(state);
  return step;
}

// Nothing while the peer's proof is incomplete.
std::optional<HandshakeStep> read_proof(Handshake& state) {
  auto const input = std::string_view(state.input);
  if (input.empty()) return std::nullopt;
  auto const who = peer_text(state);
  auto const same_everywhere =
      "MUSTER_TOKEN must be the same on " + who + " and host " + state.own.name;
  if (state.role == Role::caller && input.front() == kRefusal)
    return refuse(state, Fault::token, who + " refused this node's job token: it has another",
                  same_everywhere);
  if (input.front() != kProof)
    return fail(state, Fault::protocol,
                {Errc::protocol, who + " sent something else than a proof of its job token", ""});
  if (input.size() < 1 + kMacBytes) return std::nullopt;
  if (!proves_itself(state, input.substr(1, kMacBytes))) {
    auto step =
        state.role == Role::host
            ? refuse(state, Fault::token, who + " does not know the job token", same_everywhere)
            : refuse(state, Fault::token,
                     who + " accepted this node's job token but does not know it itself",
                     "it is not the job's host: check the endpoint, and who listens there");
    if (state.role == Role::host) step.send = kRefusal;
    return step;
  }
  HandshakeStep step;
  if (state.role == Role::host) step.send = own_proof(state);
  state.input.erase(0, 1 + kMacBytes);
  state.phase = Handshake::Phase::done;
  return step;
}

}  // namespace

std::string begin_handshake(Handshake& state) {
  state.own.asks_token = !state.token.empty();
  auto bytes = encode_opening(state.own);
  (state.role == Role::caller ? state.said.caller : state.said.host) = bytes;
  return bytes;
}

HandshakeStep handshake_step(Handshake& state, std::string_view bytes) {
  HandshakeStep all;
  if (state.phase == Handshake::Phase::failed) return all;
  state.input.append(bytes);
  while (state.phase == Handshake::Phase::opening || state.phase == Handshake::Phase::proof) {
    auto step = state.phase == Handshake::Phase::opening ? read_opening(state) : read_proof(state);
    if (!step) break;
    all.send += step->send;
    all.fault = step->fault;
    all.error = std::move(step->error);
  }
  return all;
}

std::string peer_text(Handshake const& state) {
  return "host " + (state.peer.name.empty() ? state.peer_address : state.peer.name);
}

}  // namespace muster::control
