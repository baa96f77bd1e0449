// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/tls_session.hpp"

#include "rendezvous/base/assert.hpp"
#include "rendezvous/secure/secure_api.hpp"

#include <array>

namespace muster::net {

Result<std::shared_ptr<TlsIdentity const>> TlsIdentity::open(SecureModule module,
                                                             TlsFiles const& files) {
  std::array<char, 512> why{};
  auto* const identity =
      module.api().identity_open(files.certificate.c_str(), files.key.c_str(),
                                 files.authority.c_str(), why.data(), why.size());
  if (!identity)
    return Error{Errc::bad_input, "TLS cannot be used: " + std::string(why.data()),
                 "--tls-cert, --tls-key and --tls-ca name PEM files; the key has no passphrase"};
  return std::shared_ptr<TlsIdentity const>(new TlsIdentity(module, identity));
}

TlsIdentity::~TlsIdentity() {
  module_.api().identity_close(identity_);
}

TlsSession::TlsSession(std::shared_ptr<TlsIdentity const> identity, control::Role role)
    : identity_(std::move(identity)),
      api_(identity_->module_.api()),
      tls_(api_.tls_open(identity_->identity_, role == control::Role::host ? 1 : 0)) {
  MUSTER_ASSERT(tls_ != nullptr, "no memory for a TLS session");
}

TlsSession::~TlsSession() {
  api_.tls_close(tls_);
}

Error TlsSession::failure() const {
  return {Errc::refused, std::string("the TLS handshake failed: ") + api_.tls_why(tls_),
          "both sides need an unexpired certificate of the other's --tls-ca"};
}

Result<std::string> TlsSession::feed(std::string_view from_peer) {
  if (api_.tls_feed(tls_, {from_peer.data(), from_peer.size()}) != 1) return failure();
  if (established() && !early_.empty()) write(std::exchange(early_, {}));
  std::string plain;
  std::array<char, 16 * 1024> piece;
  for (;;) {
    auto const count = api_.tls_read(tls_, piece.data(), piece.size());
    if (count < 0) return failure();
    if (count == 0) return plain;
    plain.append(piece.data(), static_cast<std::size_t>(count));
  }
}

void TlsSession::write(std::string_view plain) {
  if (established())
    api_.tls_write(tls_, {plain.data(), plain.size()});  // memory only; a failure shows in feed()
  else
    early_ += plain;
}

std::string TlsSession::drain() {
  std::string bytes;
  std::array<char, 16 * 1024> piece;
  while (auto const count = api_.tls_drain(tls_, piece.data(), piece.size()))
    bytes.append(piece.data(), count);
  return bytes;
}

bool TlsSession::established() const {
  return api_.tls_established(tls_) == 1;
}

std::string TlsSession::binding() const {
  std::string bytes(secure::kDigestBytes, '\0');
  MUSTER_ASSERT(api_.tls_binding(tls_, bytes.data()) == 1, "a TLS session without a binding");
  return bytes;
}

}  // namespace muster::net
