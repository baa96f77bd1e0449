// SPDX-License-Identifier: Apache-2.0
// make_certificates FOLDER: for tests that are no C++.
#include "tests/support/certificates.hpp"

int main(int argc, char** argv) {
  return argc == 2 && muster::test::make_certificates(argv[1]) ? 0 : 1;
}
