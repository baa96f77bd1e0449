// SPDX-License-Identifier: Apache-2.0
#pragma once
// The border of libmuster_secure.so, the one place where muster meets OpenSSL: plain C types, no
// exception crosses it, no memory changes owners. Opened at first use by net/secure_module: linked,
// it would cost each launch milliseconds, also those that ask for no token and no TLS.

#include <cstddef>
#include <cstdint>

namespace muster::secure {

inline constexpr std::uint32_t kApiVersion = 1;
inline constexpr std::size_t kDigestBytes = 32;
inline constexpr char kEntryPoint[] = "muster_secure_api";

struct Bytes {
  char const* data;
  std::size_t size;
};

struct Identity;  // a certificate, its key, and whom it trusts
struct Tls;       // one side of one TLS 1.3 session, fed and drained by its owner

// Functions that return int say 1 for success and 0 for failure.
struct Api {
  std::uint32_t version;

  int (*random)(char* out, std::size_t size);
  int (*hmac_sha256)(Bytes key, Bytes const* parts, std::size_t count, char* out);

  // PEM files. Null: `why` says what is wrong, in words for people.
  Identity* (*identity_open)(char const* certificate, char const* key, char const* authority,
                             char* why, std::size_t why_size);
  void (*identity_close)(Identity*);

  // `accepts`: the side that was called. Null: out of memory.
  Tls* (*tls_open)(Identity*, int accepts);
  void (*tls_close)(Tls*);
  // Takes what came from the peer, and goes on with the handshake. 0: it failed (tls_why); what
  // tls_drain then gives tells the peer.
  int (*tls_feed)(Tls*, Bytes from_peer);
  int (*tls_established)(Tls const*);
  int (*tls_write)(Tls*, Bytes plain);  // once established
  // Bytes for the peer; 0: none are left.
  std::size_t (*tls_drain)(Tls*, char* out, std::size_t size);
  // What the peer wrote; 0: nothing is left; -1: what came is no TLS of this session (tls_why).
  long (*tls_read)(Tls*, char* out, std::size_t size);
  // kDigestBytes that both sides of this session alone have in common.
  int (*tls_binding)(Tls*, char* out);
  char const* (*tls_why)(Tls const*);
};

}  // namespace muster::secure

extern "C" muster::secure::Api const* muster_secure_api();
