// SPDX-License-Identifier: Apache-2.0
// Replays a corpus through a libFuzzer entry point, for compilers without libFuzzer: each file
// whole, and each of its prefixes up to 4 KiB, so that a decoder meets every truncation.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  std::size_t files = 0;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<char> const bytes{std::istreambuf_iterator<char>(in), {}};
    auto const* data = reinterpret_cast<std::uint8_t const*>(bytes.data());
    LLVMFuzzerTestOneInput(data, bytes.size());
    for (std::size_t n = 0; n < bytes.size() && n < 4096; ++n) LLVMFuzzerTestOneInput(data, n);
    ++files;
  }
  std::printf("%zu corpus files replayed\n", files);
  return files == 0 ? 1 : 0;  // an empty corpus tests nothing
}
