// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/digits.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace muster::worker {
namespace {

std::string const kCarried = MUSTER_SOURCE_DIR "/tests/data/mnist10k";

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("muster_digits_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(std::string const& name, std::string const& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string idx(std::vector<std::uint32_t> const& sizes, std::string const& elements) {
  std::string bytes("\0\0\x08", 3);
  bytes += static_cast<char>(sizes.size());
  for (auto const size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xFF);
  return bytes + elements;
}

}  // namespace

TEST_CASE("the carried digits are 9,000 to train on and 1,000 to test on", "[data]") {
  auto const train = load_digits(kCarried, Split::train);
  auto const test = load_digits(kCarried, Split::test);
  REQUIRE(train);
  REQUIRE(test);
  CHECK(train->size() == 9000);
  CHECK(test->size() == 1000);
  CHECK(train->pixels() == 784);
}

TEST_CASE("a batch holds its rows' images between 0 and 1, and their labels", "[data]") {
  Folder const folder;
  folder.write("t10k-images-idx3-ubyte", idx({3, 1, 2}, std::string("\0\xff\x33\0\0\0", 6)));
  folder.write("t10k-labels-idx1-ubyte", idx({3}, std::string("\x01\x09\x05", 3)));
  auto const digits = load_digits(folder.path(), Split::test);
  REQUIRE(digits);
  std::vector<std::int64_t> const rows{1, 0};
  auto const batch = batch_of(*digits, rows);
  CHECK(batch.inputs.shape == Shape{2, 2});
  CHECK(batch.inputs.as<float>()[0] == 0.2F);
  CHECK(batch.inputs.as<float>()[3] == 1.0F);
  CHECK(batch.targets.as<std::int64_t>()[0] == 9);
  CHECK(batch.targets.as<std::int64_t>()[1] == 1);
  CHECK(batch.rows == rows);
}

TEST_CASE("missing, exchanged, unequal and mislabelled files are refused by name", "[data]") {
  Folder const folder;
  auto const missing = load_digits(folder.path(), Split::train);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().what.find("train-images-idx3-ubyte") != std::string::npos);

  folder.write("train-images-idx3-ubyte", idx({2}, "ab"));
  CHECK(load_digits(folder.path(), Split::train).error().code == Errc::corrupt);
  folder.write("train-images-idx3-ubyte", idx({2, 1, 1}, "ab"));
  folder.write("train-labels-idx1-ubyte", idx({1}, std::string(1, '\x01')));
  CHECK(load_digits(folder.path(), Split::train).error().what.find("2 images and 1 labels") !=
        std::string::npos);
  folder.write("train-labels-idx1-ubyte", idx({2}, "\x01\x0a"));
  CHECK(load_digits(folder.path(), Split::train).error().what.find("label 10 of sample 1") !=
        std::string::npos);
}

}  // namespace muster::worker
