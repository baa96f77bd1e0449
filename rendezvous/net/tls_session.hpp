// SPDX-License-Identifier: Apache-2.0
#pragma once
// One side of a TLS 1.3 session without a socket: bytes of the wire in and out, plain bytes out and
// in. What is to be said before the handshake is over waits here.

#include "rendezvous/base/result.hpp"
#include "rendezvous/control/handshake.hpp"
#include "rendezvous/net/secure_module.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace muster::secure {
struct Identity;
struct Tls;
}  // namespace muster::secure

namespace muster::net {

// The first byte of a TLS record: a handshake, or an alert.
constexpr bool begins_tls(char first) {
  return first == '\x16' || first == '\x15';
}

struct TlsFiles {
  std::string certificate, key, authority;  // PEM

  friend bool operator==(TlsFiles const&, TlsFiles const&) = default;
};

// This process's certificate, and the authority whose certificates it takes from others.
class TlsIdentity {
 public:
  static Result<std::shared_ptr<TlsIdentity const>> open(SecureModule module,
                                                         TlsFiles const& files);
  ~TlsIdentity();
  TlsIdentity(TlsIdentity const&) = delete;
  TlsIdentity& operator=(TlsIdentity const&) = delete;

 private:
  friend class TlsSession;
  TlsIdentity(SecureModule module, secure::Identity* identity)
      : module_(module), identity_(identity) {}

  SecureModule module_;
  secure::Identity* identity_;
};

class TlsSession {
 public:
  TlsSession(std::shared_ptr<TlsIdentity const> identity, control::Role role);
  ~TlsSession();
  TlsSession(TlsSession const&) = delete;
  TlsSession& operator=(TlsSession const&) = delete;

  // Takes bytes of the wire; the plain ones among them. The error says why the peer or its
  // certificate is refused, or why it refused ours; then drain() still has what tells it so.
  Result<std::string> feed(std::string_view from_peer);
  void write(std::string_view plain);
  // Bytes for the wire.
  std::string drain();
  bool established() const;
  // What both sides of this very session have in common; once established.
  std::string binding() const;

 private:
  Error failure() const;

  std::shared_ptr<TlsIdentity const> identity_;
  secure::Api const& api_;
  secure::Tls* tls_;
  std::string early_;
};

}  // namespace muster::net
