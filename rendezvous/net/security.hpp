// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a process asks of those who call it or whom it calls on the control channel: a job token, a
// certificate, both, or neither. Made once at the start; shared by all connections, never changed.

#include "rendezvous/base/result.hpp"
#include "rendezvous/net/tls_session.hpp"

#include <memory>
#include <optional>
#include <string>

namespace muster::net {

struct SecurityOptions {
  std::optional<std::string> token;
  std::optional<TlsFiles> tls;
};

class Security {
 public:
  using Ptr = std::shared_ptr<Security const>;

  // Null where nothing is asked: then OpenSSL is not even looked for.
  static Result<Ptr> make(SecurityOptions const& options);
  static Result<Ptr> make(SecurityOptions const& options, SecureModule module);

  std::string const& token() const { return token_; }  // empty: none
  control::Mac const& mac() const { return mac_; }
  Result<std::string> fresh_nonce() const;
  bool has_tls() const { return identity_ != nullptr; }
  std::unique_ptr<TlsSession> tls_session(control::Role role) const;

 private:
  explicit Security(SecureModule module) : module_(module), mac_(module.mac()) {}

  SecureModule module_;
  std::string token_;
  control::Mac mac_;
  std::shared_ptr<TlsIdentity const> identity_;
};

}  // namespace muster::net
