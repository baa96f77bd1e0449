// SPDX-License-Identifier: Apache-2.0
// The table, chance and HMAC.
#include "rendezvous/secure/parts.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace muster::secure {

int random(char* out, std::size_t size) {
  return ::RAND_bytes(reinterpret_cast<unsigned char*>(out), static_cast<int>(size)) == 1 ? 1 : 0;
}

int hmac_sha256(Bytes key, Bytes const* parts, std::size_t count, char* out) {
  static EVP_MAC* const algorithm = ::EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr);
  EVP_MAC_CTX* const context = algorithm ? ::EVP_MAC_CTX_new(algorithm) : nullptr;
  if (!context) return 0;
  char digest[] = "SHA256";
  OSSL_PARAM const settings[] = {
      ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      ::OSSL_PARAM_construct_end()};
  auto const* const key_bytes = reinterpret_cast<unsigned char const*>(key.data);
  bool good = ::EVP_MAC_init(context, key_bytes, key.size, settings) == 1;
  for (std::size_t i = 0; good && i < count; ++i)
    good = ::EVP_MAC_update(context, reinterpret_cast<unsigned char const*>(parts[i].data),
                            parts[i].size) == 1;
  std::size_t size = 0;
  good = good &&
         ::EVP_MAC_final(context, reinterpret_cast<unsigned char*>(out), &size, kDigestBytes) == 1;
  ::EVP_MAC_CTX_free(context);
  return good && size == kDigestBytes ? 1 : 0;
}

}  // namespace muster::secure

extern "C" __attribute__((visibility("default"))) muster::secure::Api const* muster_secure_api() {
  using namespace muster::secure;
  // Never unloaded; a process that ends has nothing to tidy up in here.
  if (::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) return nullptr;
  static constexpr Api kApi{kApiVersion, random,    hmac_sha256, identity_open,   identity_close,
                            tls_open,    tls_close, tls_feed,    tls_established, tls_write,
                            tls_drain,   tls_read,  tls_binding, tls_why};
  return &kApi;
}
