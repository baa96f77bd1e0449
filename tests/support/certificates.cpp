// SPDX-License-Identifier: Apache-2.0
#include "tests/support/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

namespace muster::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr long kDay = 24 * 60 * 60;

struct Pair {
  Key key{nullptr, &EVP_PKEY_free};
  Certificate certificate{nullptr, &X509_free};
};

void name(X509_NAME* to, std::string const& text) {
  X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC,
                             reinterpret_cast<unsigned char const*>(text.c_str()), -1, -1, 0);
}

// `issuer` null: an authority that signs itself.
Pair make(std::string const& subject, Pair const* issuer, long first_day, long last_day) {
  Pair made;
  made.key.reset(EVP_EC_gen("P-256"));
  made.certificate.reset(X509_new());
  auto* const certificate = made.certificate.get();
  static long serial = 0;
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), first_day * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), last_day * kDay);
  X509_set_pubkey(certificate, made.key.get());
  name(X509_get_subject_name(certificate), subject);
  auto const* const signer = issuer ? issuer : &made;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer->certificate.get()));
  auto* const constraint = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints,
                                               issuer ? "CA:FALSE" : "critical,CA:TRUE");
  X509_add_ext(certificate, constraint, -1);
  X509_EXTENSION_free(constraint);
  X509_sign(certificate, signer->key.get(), EVP_sha256());
  return made;
}

bool write(Pair const& pair, std::string const& path, bool with_key) {
  auto* file = std::fopen((path + ".pem").c_str(), "w");
  auto good = file && PEM_write_X509(file, pair.certificate.get()) == 1;
  if (file) good = std::fclose(file) == 0 && good;
  if (!with_key) return good;
  file = std::fopen((path + ".key").c_str(), "w");
  good = good && file &&
         PEM_write_PrivateKey(file, pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (file) good = std::fclose(file) == 0 && good;
  return good;
}

}  // namespace

bool make_certificates(std::string const& folder) {
  auto const authority = make("authority", nullptr, -10, 10);
  auto const other = make("other authority", nullptr, -10, 10);
  return write(authority, folder + "/ca", false) && write(other, folder + "/other-ca", false) &&
         write(make("node", &authority, -1, 1), folder + "/node", true) &&
         write(make("expired", &authority, -2, -1), folder + "/expired", true) &&
         write(make("stranger", &other, -1, 1), folder + "/stranger", true);
}

}  // namespace muster::test
