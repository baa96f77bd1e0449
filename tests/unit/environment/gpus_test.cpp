// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/gpus.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

std::vector<Gpu> three() {
  return {{"0000:3b:00.0", "GPU-aa11"}, {"0000:5e:00.0", "GPU-aa22"}, {"0000:86:00.0", "GPU-bb33"}};
}

std::vector<std::string> addresses(std::vector<Gpu> const& gpus) {
  std::vector<std::string> all;
  for (auto const& gpu : gpus) all.push_back(gpu.pci_address);
  return all;
}

}  // namespace

TEST_CASE("GPUs are those of the driver whose device file is there", "[environment]") {
  FakeFileSystem files;
  files.file("/proc/driver/nvidia/gpus/0000:3b:00.0/information",
             "Model: \t\t H200\nGPU UUID: \t GPU-aa11\nDevice Minor: \t 0\n");
  files.file("/proc/driver/nvidia/gpus/0000:5e:00.0/information",
             "GPU UUID: GPU-aa22\nDevice Minor: 1\n");
  files.file("/dev/nvidia0");
  CHECK(probe_gpus(files) == std::vector<Gpu>{{"0000:3b:00.0", "GPU-aa11"}});
  files.file("/dev/nvidia1");
  CHECK(probe_gpus(files).size() == 2);
}

TEST_CASE("CUDA_VISIBLE_DEVICES chooses and orders by CUDA's rules", "[environment]") {
  using Addresses = std::vector<std::string>;
  CHECK(visible_gpus(three(), std::nullopt).size() == 3);
  CHECK(visible_gpus(three(), "").empty());
  CHECK(addresses(visible_gpus(three(), "2, 0")) == Addresses{"0000:86:00.0", "0000:3b:00.0"});
  CHECK(addresses(visible_gpus(three(), "1,-1,0")) == Addresses{"0000:5e:00.0"});
  CHECK(addresses(visible_gpus(three(), "0,7,1")) == Addresses{"0000:3b:00.0"});
  CHECK(addresses(visible_gpus(three(), "GPU-bb")) == Addresses{"0000:86:00.0"});
  CHECK(visible_gpus(three(), "GPU-aa").empty());  // ambiguous
  CHECK(visible_gpus(three(), "NoDevFiles").empty());
  CHECK(visible_gpus(three(), "MIG-1,MIG-2").size() == 1);
}

}  // namespace muster::launch
