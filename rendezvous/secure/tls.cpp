// SPDX-License-Identifier: Apache-2.0
// TLS between memory buffers: both sides show a certificate of the given authority, 1.3 or nothing.
#include "rendezvous/secure/parts.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

namespace muster::secure {

struct Identity {
  SSL_CTX* context = nullptr;
};

struct Tls {
  SSL* session = nullptr;
  BIO* in = nullptr;  // both owned by the session
  BIO* out = nullptr;
  bool failed = false;
  char why[160] = "";
};

namespace {

constexpr char kBindingLabel[] = "EXPORTER-muster-control";

// A key behind a passphrase is an error, not a prompt on a terminal that nobody looks at.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

char const* last_reason() {
  auto const* const reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  return reason ? reason : "it is no PEM file of that kind";
}

struct Why {
  char* text;
  std::size_t size;

  bool no(char const* what, char const* path) const {
    std::snprintf(text, size, "the %s %s: %s", what, path,
                  ::access(path, R_OK) == 0 ? last_reason() : std::strerror(errno));
    return false;
  }
};

bool load(SSL_CTX* context, char const* certificate, char const* key, char const* authority,
          Why const& why) {
  ::SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (::SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
    return why.no("certificate", certificate);
  if (::SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    return why.no("private key", key);
  if (::SSL_CTX_check_private_key(context) != 1) return why.no("private key", key);
  if (::SSL_CTX_load_verify_locations(context, authority, nullptr) != 1)
    return why.no("authority's certificate", authority);
  return true;
}

void note_failure(Tls* tls) {
  tls->failed = true;
  auto const verdict = ::SSL_get_verify_result(tls->session);
  auto const* const why =
      verdict == X509_V_OK ? last_reason() : ::X509_verify_cert_error_string(verdict);
  std::snprintf(tls->why, sizeof tls->why, "%s", why);
}

// Whether `result` of a call only means that the peer has to say more.
bool is_patient(Tls* tls, int result) {
  auto const error = ::SSL_get_error(tls->session, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN;
}

int advance(Tls* tls) {
  if (::SSL_is_init_finished(tls->session)) return 1;
  ::ERR_clear_error();
  auto const result = ::SSL_do_handshake(tls->session);
  if (result == 1 || is_patient(tls, result)) return 1;
  note_failure(tls);
  return 0;
}

}  // namespace

Identity* identity_open(char const* certificate, char const* key, char const* authority, char* why,
                        std::size_t why_size) {
  ::ERR_clear_error();
  auto* const context = ::SSL_CTX_new(::TLS_method());
  auto* const identity = context ? new (std::nothrow) Identity{context} : nullptr;
  if (!identity) {
    ::SSL_CTX_free(context);
    std::snprintf(why, why_size, "OpenSSL cannot be set up: %s", last_reason());
    return nullptr;
  }
  ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context, 0);
  if (load(context, certificate, key, authority, {why, why_size})) return identity;
  identity_close(identity);
  return nullptr;
}

void identity_close(Identity* identity) {
  if (!identity) return;
  ::SSL_CTX_free(identity->context);
  delete identity;
}

Tls* tls_open(Identity* identity, int accepts) {
  auto* const tls = new (std::nothrow) Tls;
  if (!tls) return nullptr;
  tls->session = ::SSL_new(identity->context);
  tls->in = ::BIO_new(::BIO_s_mem());
  tls->out = ::BIO_new(::BIO_s_mem());
  if (!tls->session || !tls->in || !tls->out) {
    ::BIO_free(tls->in);
    ::BIO_free(tls->out);
    ::SSL_free(tls->session);
    delete tls;
    return nullptr;
  }
  ::BIO_set_mem_eof_return(tls->in, -1);  // empty is not the end
  ::SSL_set_bio(tls->session, tls->in, tls->out);
  if (accepts)
    ::SSL_set_accept_state(tls->session);
  else
    ::SSL_set_connect_state(tls->session);
  advance(tls);  // the caller's first words
  return tls;
}

void tls_close(Tls* tls) {
  if (!tls) return;
  ::SSL_free(tls->session);
  delete tls;
}

int tls_feed(Tls* tls, Bytes from_peer) {
  if (tls->failed) return 0;
  auto const size = static_cast<int>(from_peer.size);
  if (::BIO_write(tls->in, from_peer.data, size) != size) return 0;
  return advance(tls);
}

int tls_established(Tls const* tls) {
  return !tls->failed && ::SSL_is_init_finished(tls->session) ? 1 : 0;
}

int tls_write(Tls* tls, Bytes plain) {
  if (!tls_established(tls)) return 0;
  if (plain.size == 0) return 1;
  ::ERR_clear_error();
  if (::SSL_write(tls->session, plain.data, static_cast<int>(plain.size)) > 0) return 1;
  note_failure(tls);
  return 0;
}

std::size_t tls_drain(Tls* tls, char* out, std::size_t size) {
  auto const count = ::BIO_read(tls->out, out, static_cast<int>(size));
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

long tls_read(Tls* tls, char* out, std::size_t size) {
  if (!tls_established(tls)) return 0;
  ::ERR_clear_error();
  auto const count = ::SSL_read(tls->session, out, static_cast<int>(size));
  if (count > 0) return count;
  if (is_patient(tls, count)) return 0;
  note_failure(tls);
  return -1;
}

int tls_binding(Tls* tls, char* out) {
  return ::SSL_export_keying_material(tls->session, reinterpret_cast<unsigned char*>(out),
                                      kDigestBytes, kBindingLabel, sizeof kBindingLabel - 1,
                                      nullptr, 0, 0) == 1
             ? 1
             : 0;
}

char const* tls_why(Tls const* tls) {
  return tls->why;
}

}  // namespace muster::secure
