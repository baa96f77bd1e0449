// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/help.hpp"

#include "launcher/cli/torchrun_flags.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::size_t kColumn = 30;

// Appends `text` word by word, from column kColumn on.
void wrap(std::string& out, std::string_view text) {
  std::size_t column = kColumn;
  while (!text.empty()) {
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(kColumn, ' ');
      column = kColumn;
    }
    if (column > kColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

std::string value_name(Flag const& flag) {
  switch (flag.kind) {
    case FlagKind::toggle:
      return {};
    case FlagKind::integer:
      return " N";
    case FlagKind::real:
      return " SECONDS";
    case FlagKind::choice:
      return " " + std::string(flag.choices);
    case FlagKind::text:
      return " VALUE";
  }
  return {};
}

void describe(std::string& out, Flag const& flag) {
  std::string left = "  ";
  if (flag.letter != 0) left += std::string("-") + flag.letter + ", ";
  left += "--" + std::string(flag.name) + value_name(flag);
  out += left;
  out += left.size() + 2 > kColumn ? '\n' + std::string(kColumn, ' ')
                                   : std::string(kColumn - left.size(), ' ');
  std::string text(flag.help);
  if (!flag.fallback.empty()) text += " Default: " + std::string(flag.fallback) + ".";
  if (!flag.variable.empty()) text += " [" + std::string(flag.variable) + "]";
  wrap(out, text);
  if (flag.differs.empty()) return;
  out += std::string(kColumn, ' ');
  wrap(out, "Unlike torchrun: " + std::string(flag.differs));
}

}  // namespace

std::string help_text(std::string_view program) {
  std::string out = usage_text(program);
  out +=
      "\nStarts the workers of this node and keeps them together with those of the other nodes.\n"
      "Takes every option of torchrun. Each long option may be written with underscores and cut "
      "short\n"
      "while it stays unambiguous. What stands after SCRIPT belongs to the script; ${local_rank} "
      "in it\n"
      "becomes the worker's local rank. A variable in [brackets] is the default where the option "
      "is not\n"
      "given.\n";
  for (auto const group : {kNodes, kMeeting, kEntry, kKeeping, kLogs}) {
    out += '\n' + std::string(group) + ":\n";
    for (auto const& flag : kFlags)
      if (flag.group == group) describe(out, flag);
  }
  out +=
      "\nThe exit code is that of the worker that failed first (128 + signal), 2 for a usage "
      "error, 126 or\n"
      "127 if the script cannot run, 80 to 95 for muster's own (README). No warning about\n"
      "OMP_NUM_THREADS is printed; it is set to 1 for several workers, as torchrun does.\n";
  return out;
}

std::string usage_text(std::string_view program) {
  return "usage: " + std::string(program) + " [options] SCRIPT [arguments of the script]\n";
}

}  // namespace muster::launch
