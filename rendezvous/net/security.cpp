// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/security.hpp"

namespace muster::net {

Result<Security::Ptr> Security::make(SecurityOptions const& options) {
  if (!options.token && !options.tls) return Ptr();
  MUSTER_TRY(auto const module, SecureModule::find());
  return make(options, module);
}

Result<Security::Ptr> Security::make(SecurityOptions const& options, SecureModule module) {
  auto made = std::shared_ptr<Security>(new Security(module));
  made->token_ = options.token.value_or("");
  if (options.tls) {
    MUSTER_TRY(made->identity_, TlsIdentity::open(module, *options.tls));
  }
  return Ptr(std::move(made));
}

Result<std::string> Security::fresh_nonce() const {
  return module_.random(control::kNonceBytes);
}

std::unique_ptr<TlsSession> Security::tls_session(control::Role role) const {
  return std::make_unique<TlsSession>(identity_, role);
}

}  // namespace muster::net
