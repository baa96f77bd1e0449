// SPDX-License-Identifier: Apache-2.0
// Any command line (arguments end at a NUL or a newline; those before the first "ENV" are words,
// those after it NAME=VALUE variables) becomes options or a text: no crash, and what follows the
// script is kept.
#include "launcher/agent/worker_environment.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/parse.hpp"
#include "rendezvous/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace muster;
using namespace muster::launch;

struct Input {
  std::vector<std::string> words;
  EnvView env;
};

Input read_input(std::string_view text) {
  Input input;
  bool variables = false;
  while (!text.empty()) {
    auto const end = std::min(text.find_first_of(std::string_view("\0\n", 2)), text.size());
    auto const word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    auto const equals = word.find('=');
    if (word == "ENV") {
      variables = true;
    } else if (!variables) {
      input.words.emplace_back(word);
    } else if (equals != std::string_view::npos) {
      input.env.set(std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
    }
  }
  return input;
}

// The script's arguments are the end of the line, letter by letter.
void check_suffix(std::vector<std::string> const& words, std::vector<std::string> const& args) {
  MUSTER_ASSERT(args.size() <= words.size(), "arguments out of nowhere");
  MUSTER_ASSERT(std::equal(args.rbegin(), args.rend(), words.rbegin()), "arguments changed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const input = read_input({reinterpret_cast<char const*>(data), size});
  if (auto const line = normalize(input.words); line && line->program)
    check_suffix(input.words, line->args);
  auto const outcome = parse_run(Caller{"muster run", "fresh"}, input.words, input.env);
  if (auto const* early = std::get_if<EarlyExit>(&outcome)) {
    MUSTER_ASSERT(early->code == 0 ? !early->out.empty() : !early->err.empty(), "a silent end");
    return 0;
  }
  auto const& options = std::get<RunOptions>(outcome);
  check_suffix(input.words, options.args);
  MUSTER_ASSERT(!options.program.empty() && options.nodes_min >= 1, "impossible options");
  MUSTER_ASSERT(options.nodes_min <= options.nodes_max, "an empty range");
  for (auto const& word : options.args) (void)substitute_local_rank(word, 7);
  return 0;
}
