// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the files of the module give to its table.

#include "rendezvous/secure/secure_api.hpp"

namespace muster::secure {

int random(char* out, std::size_t size);
int hmac_sha256(Bytes key, Bytes const* parts, std::size_t count, char* out);

Identity* identity_open(char const* certificate, char const* key, char const* authority, char* why,
                        std::size_t why_size);
void identity_close(Identity* identity);
Tls* tls_open(Identity* identity, int accepts);
void tls_close(Tls* tls);
int tls_feed(Tls* tls, Bytes from_peer);
int tls_established(Tls const* tls);
int tls_write(Tls* tls, Bytes plain);
std::size_t tls_drain(Tls* tls, char* out, std::size_t size);
long tls_read(Tls* tls, char* out, std::size_t size);
int tls_binding(Tls* tls, char* out);
char const* tls_why(Tls const* tls);

}  // namespace muster::secure
