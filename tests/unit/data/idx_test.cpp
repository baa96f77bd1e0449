// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/idx.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace muster::worker {
namespace {

std::string const kTwoByThree(
    "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
    "abcdef",
    18);

std::string error_of(std::string const& bytes) {
  auto const parsed = parse_idx(bytes, "f.idx");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().what.starts_with("f.idx: "));
  return parsed.error().what;
}

}  // namespace

TEST_CASE("an IDX file gives its sizes and elements", "[data]") {
  auto const parsed = parse_idx(kTwoByThree, "f.idx");
  REQUIRE(parsed);
  CHECK(parsed->shape == Shape{2, 3});
  CHECK(parsed->dtype == DType::u8);
  CHECK(parsed->as<std::uint8_t>()[5] == 'f');
}

TEST_CASE("an IDX file that is cut anywhere is refused", "[data]") {
  for (std::size_t cut = 0; cut < kTwoByThree.size(); ++cut)
    CHECK_FALSE(parse_idx(kTwoByThree.substr(0, cut), "f.idx"));
}

TEST_CASE("wrong magic, types, dimensions and lengths are told apart", "[data]") {
  auto wrong = kTwoByThree;
  wrong[0] = 'P';
  CHECK(error_of(wrong).find("not an IDX file") != std::string::npos);
  wrong = kTwoByThree;
  wrong[2] = 0x0D;
  CHECK(error_of(wrong).find("element type 13") != std::string::npos);
  wrong = kTwoByThree;
  wrong[3] = 0;
  CHECK(error_of(wrong).find("0 dimensions") != std::string::npos);
  wrong[3] = 7;
  CHECK(error_of(wrong).find("7 dimensions") != std::string::npos);
  CHECK(error_of(kTwoByThree + "g").find("7 bytes of elements, its header announces 6") !=
        std::string::npos);
}

TEST_CASE("a header that announces more than memory holds costs nothing", "[data]") {
  auto huge = std::string("\0\0\x08\x03", 4) + std::string(12, '\xff') + "x";
  CHECK(error_of(huge).find("the limit") != std::string::npos);
}

TEST_CASE("files are read plain and packed, and errors name them", "[data]") {
  auto const folder =
      std::filesystem::temp_directory_path() / ("muster_idx_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "plain") << kTwoByThree;
  CHECK(read_idx((folder / "plain").string()));
  std::ofstream(folder / "cut.gz") << "\x1f\x8b\x08";
  auto const cut = read_idx((folder / "cut.gz").string());
  REQUIRE_FALSE(cut);
  CHECK(cut.error().what == (folder / "cut.gz").string() + ": the gzip stream is cut off");
  CHECK(read_idx(folder.string()).error().code == Errc::bad_input);
  CHECK(read_idx((folder / "none").string()).error().code == Errc::not_found);
  std::filesystem::remove_all(folder);
}

}  // namespace muster::worker
