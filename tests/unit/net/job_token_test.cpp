// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/job_token.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sys/stat.h>

using namespace muster;
using namespace muster::net;

namespace {

std::string const kToken = "0123456789abcdef0123456789abcdef";

struct TokenFile {
  test::TempFolder folder;
  std::string path = folder / "token";

  explicit TokenFile(std::string const& text, unsigned mode = 0600) {
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  }
};

std::string refusal(std::optional<std::string_view> variable,
                    std::optional<std::string> const& file) {
  auto const token = read_job_token(variable, file);
  REQUIRE_FALSE(token);
  return to_string(token.error());
}

}  // namespace

TEST_CASE("no variable and no file is no token", "[net]") {
  auto const token = read_job_token(std::nullopt, std::nullopt);
  REQUIRE(token);
  CHECK_FALSE(*token);
}

TEST_CASE("a token comes from the variable or the file, without the line's end", "[net]") {
  TokenFile const file(kToken + "\r\n");
  CHECK(**read_job_token(kToken, std::nullopt) == kToken);
  CHECK(**read_job_token(std::nullopt, file.path) == kToken);
  CHECK(**read_job_token(kToken, file.path) == kToken);
  TokenFile const read_only(kToken, 0400);
  CHECK(**read_job_token(std::nullopt, read_only.path) == kToken);
}

TEST_CASE("two different tokens are refused, not chosen from", "[net]") {
  TokenFile const file(kToken);
  CHECK(refusal("another-token-of-length", file.path).find("another token than MUSTER_TOKEN") !=
        std::string::npos);
}

TEST_CASE("a file that others may read or write is refused with the remedy", "[net]") {
  auto const mode = GENERATE(0640u, 0604u, 0620u, 0602u, 0644u);
  TokenFile const file(kToken, mode);
  auto const text = refusal(std::nullopt, file.path);
  CHECK(text.find("allowed is 0600") != std::string::npos);
  CHECK(text.find("chmod 600 " + file.path) != std::string::npos);
}

TEST_CASE("an empty, short or endless token is refused: set, it was meant", "[net]") {
  CHECK(refusal("", std::nullopt).find("0 characters") != std::string::npos);
  CHECK(refusal("secret", std::nullopt).find("openssl rand -hex 32") != std::string::npos);
  TokenFile const empty("\n");
  CHECK(refusal(std::nullopt, empty.path).find("0 characters") != std::string::npos);
  TokenFile const endless(std::string(100'000, 'x'));
  CHECK(refusal(std::nullopt, endless.path).find("allowed are 16 to 1024") != std::string::npos);
  CHECK(refusal(std::string_view("0123456789\0abcdefg", 18), std::nullopt).find("zero byte") !=
        std::string::npos);
}

TEST_CASE("a file that is missing or none is named", "[net]") {
  test::TempFolder const folder;
  auto const missing = (folder / "missing").string();
  CHECK(refusal(std::nullopt, missing).find(missing) != std::string::npos);
  auto const fifo = (folder / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal(std::nullopt, fifo).find("no regular file") != std::string::npos);
  CHECK(refusal(std::nullopt, folder.path()).find("no regular file") != std::string::npos);
}
