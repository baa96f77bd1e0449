// SPDX-License-Identifier: Apache-2.0
#pragma once
// Certificates for tests, made anew each time: none is kept in the tree, none runs out.

#include <string>

namespace muster::test {

// Writes into the folder: ca.pem; node.pem and node.key, of that authority; expired.pem and
// expired.key, of it but out of date; other-ca.pem, and stranger.pem and stranger.key of it.
// False: OpenSSL failed.
bool make_certificates(std::string const& folder);

}  // namespace muster::test
