// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/normalize.hpp"

#include "launcher/cli/nearest.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

constexpr std::string_view kHelp = "help";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// argparse: ^-\d+$|^-\d*\.\d+$ is a value, since torchrun has no option of that form.
bool is_negative_number(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  auto const body = word.substr(1);
  auto const dot = body.find('.');
  auto const whole = body.substr(0, dot);
  if (!std::all_of(whole.begin(), whole.end(), is_digit)) return false;
  if (dot == std::string_view::npos) return true;
  auto const fraction = body.substr(dot + 1);
  return !fraction.empty() && std::all_of(fraction.begin(), fraction.end(), is_digit);
}

// Whether argparse takes the word for an option rather than for a value.
bool looks_like_option(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  if (is_negative_number(word)) return false;
  return word.find(' ') == std::string_view::npos || word.substr(0, 2) == "--";
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

Error usage(std::string what, std::string hint = {}) {
  return Error{Errc::bad_input, std::move(what), std::move(hint)};
}

// A long option as written, found in the table. help: flag is null.
struct Found {
  Flag const* flag = nullptr;
  bool help = false;
};

Error unknown_option(std::string_view written) {
  std::vector<std::string_view> names{kHelp};
  for (auto const& flag : kFlags) names.push_back(flag.name);
  auto const name = dashed(written);
  auto const close = nearest(name, names);
  return usage("unrecognized option: --" + std::string(written),
               close ? "did you mean --" + std::string(*close) + "?"
                     : "options of the script go after the script");
}

Error ambiguous(std::string_view written, std::vector<std::string_view> const& names) {
  std::string list;
  for (auto const name : names) list += (list.empty() ? "--" : ", --") + std::string(name);
  return usage("ambiguous option: --" + std::string(written) + " could match " + list);
}

// Exact names win. Then torchrun's options by prefix, then muster's own: those must not make a
// prefix ambiguous that torchrun accepts.
Result<Found> find_long(std::string_view written) {
  auto const name = dashed(written);
  if (name == kHelp) return Found{nullptr, true};
  for (auto const& flag : kFlags)
    if (flag.name == name) return Found{&flag, false};
  for (bool const ours : {false, true}) {
    std::vector<std::string_view> names;
    Found found;
    for (auto const& flag : kFlags) {
      if (flag.ours != ours || flag.name.substr(0, name.size()) != name) continue;
      names.push_back(flag.name);
      found = Found{&flag, false};
    }
    if (!ours && kHelp.substr(0, name.size()) == name) {
      names.push_back(kHelp);
      found = Found{nullptr, true};
    }
    if (names.size() > 1) return ambiguous(written, names);
    if (names.size() == 1) return found;
  }
  return unknown_option(written);
}

Flag const* find_letter(char letter) {
  for (auto const& flag : kFlags)
    if (flag.letter == letter) return &flag;
  return nullptr;
}

class Reader {
 public:
  explicit Reader(std::vector<std::string> const& args) : args_(args) {}

  Result<NormalizedLine> read() {
    while (next_ < args_.size() && !line_.help) {
      auto const& word = args_[next_];
      if (word == "--") {
        ++next_;
        take_program();
        return std::move(line_);
      }
      if (!looks_like_option(word)) {
        take_program();
        drop_separator();
        return std::move(line_);
      }
      ++next_;
      if (word.compare(0, 2, "--") == 0) {
        MUSTER_CHECK(read_long(std::string_view(word).substr(2)));
      } else {
        MUSTER_CHECK(read_letters(std::string_view(word).substr(1)));
      }
    }
    return std::move(line_);
  }

 private:
  void take_program() {
    if (next_ >= args_.size()) return;
    line_.program = args_[next_];
    auto const rest = args_.begin() + static_cast<std::ptrdiff_t>(next_) + 1;
    line_.args.assign(rest, args_.end());
  }

  // argparse swallows one `--` of the positionals: the one before the program, else the one that
  // follows it at once.
  void drop_separator() {
    if (!line_.args.empty() && line_.args.front() == "--") line_.args.erase(line_.args.begin());
  }

  Result<void> read_long(std::string_view word) {
    auto const equals = word.find('=');
    MUSTER_TRY(auto const found, find_long(word.substr(0, equals)));
    std::optional<std::string> attached;
    if (equals != std::string_view::npos) attached = std::string(word.substr(equals + 1));
    if (found.help) {
      if (attached) return unwanted("help", *attached);
      line_.help = true;
      return ok();
    }
    return take(*found.flag, std::move(attached));
  }

  // -m, -rX, -r=X, -mr X.
  Result<void> read_letters(std::string_view letters) {
    while (!letters.empty()) {
      char const letter = letters.front();
      letters.remove_prefix(1);
      if (letter == 'h') {
        if (!letters.empty()) return unwanted("help", std::string(letters));
        line_.help = true;
        return ok();
      }
      auto const* flag = find_letter(letter);
      if (flag == nullptr)
        return usage(
            std::string("unrecognized option: -") + letter,
            "long options begin with two dashes; options of the script go after the script");
      if (flag->kind == FlagKind::toggle) {
        line_.options.push_back({flag, {}});
        continue;
      }
      std::optional<std::string> attached;
      if (!letters.empty()) attached = std::string(letters.substr(letters.front() == '=' ? 1 : 0));
      return take(*flag, std::move(attached));
    }
    return ok();
  }

  Result<void> take(Flag const& flag, std::optional<std::string> attached) {
    if (flag.kind == FlagKind::toggle) {
      if (attached) return unwanted(flag.name, *attached);
      line_.options.push_back({&flag, {}});
      return ok();
    }
    if (!attached) {
      if (next_ >= args_.size() || args_[next_] == "--" || looks_like_option(args_[next_]))
        return usage("option --" + std::string(flag.name) + ": expected one value");
      attached = args_[next_++];
    }
    line_.options.push_back({&flag, *std::move(attached)});
    return ok();
  }

  static Result<void> unwanted(std::string_view name, std::string const& value) {
    return usage("option --" + std::string(name) + " takes no value, but got '" + value + "'");
  }

  std::vector<std::string> const& args_;
  std::size_t next_ = 0;
  NormalizedLine line_;
};

}  // namespace

Result<NormalizedLine> normalize(std::vector<std::string> const& args) {
  return Reader(args).read();
}

}  // namespace muster::launch
