// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/help.hpp"

#include "launcher/cli/torchrun_flags.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster::launch {

TEST_CASE("the help is the recorded one", "[cli]") {
  auto const* const path = MUSTER_GOLDEN_DIR "/muster_run_help.txt";
  auto const text = help_text("muster run");
  if (std::getenv("MUSTER_REWRITE") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::ostringstream recorded;
  recorded << in.rdbuf();
  CHECK(text == recorded.str());  // MUSTER_REWRITE=1 records it anew
}

TEST_CASE("the help names every option and variable and fits the screen", "[cli]") {
  auto const text = help_text("torchrun");
  for (auto const& flag : kFlags) {
    INFO(flag.name);
    CHECK(text.find("--" + std::string(flag.name)) != std::string::npos);
    CHECK(text.find(flag.variable) != std::string::npos);
  }
  for (std::size_t begin = 0; begin < text.size();) {
    auto const end = text.find('\n', begin);
    INFO(text.substr(begin, end - begin));
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

}  // namespace muster::launch
