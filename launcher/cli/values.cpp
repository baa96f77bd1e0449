// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/values.hpp"

#include "rendezvous/base/env_view.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <limits>

namespace muster::launch {
namespace {

Error wrong(std::string what, std::string hint = {}) {
  return Error{Errc::bad_input, std::move(what), std::move(hint)};
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::optional<int> small_int(std::string_view text) {
  auto const number = python_int(text);
  if (!number || *number < std::numeric_limits<int>::min() ||
      *number > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(*number);
}

// 0, 1, 2 or 3.
std::optional<StreamSet> stream_set(std::string_view digit) {
  if (digit.size() != 1 || digit[0] < '0' || digit[0] > '3') return std::nullopt;
  int const bits = digit[0] - '0';
  return StreamSet{(bits & 1) != 0, (bits & 2) != 0};
}

bool is_ipv6(std::string_view text) {
  in6_addr address{};
  auto const bare = std::string(text.substr(0, text.find('%')));
  return ::inet_pton(AF_INET6, bare.c_str(), &address) == 1;
}

// torchrun's ^[\w\.:-]+$, and % for a scope. Bytes above 127 are \w to Python for most letters.
bool is_host_text(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == ':' || c == '-' || c == '%' ||
           c > 127;
  });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  auto const number = parse_int(text);
  if (!number || *number < 0 || *number > 65535 || text.front() == '-') return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

struct SplitEndpoint {
  std::string_view host;
  std::optional<std::string_view> port;
};

SplitEndpoint split_endpoint(std::string_view text) {
  if (text.front() == '[' && text.back() == ']') return {text.substr(1, text.size() - 2), {}};
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, {}};
  auto host = text.substr(0, colon);
  // "::1": the part before the last colon is no address, the whole is.
  if (host.find(':') != std::string_view::npos && host.front() != '[' && !is_ipv6(host) &&
      is_ipv6(text))
    return {text, {}};
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {host, text.substr(colon + 1)};
}

struct SignalName {
  std::string_view name;
  int number;
};

constexpr std::array kSignals = {
    SignalName{"SIGHUP", SIGHUP},       SignalName{"SIGINT", SIGINT},
    SignalName{"SIGQUIT", SIGQUIT},     SignalName{"SIGILL", SIGILL},
    SignalName{"SIGTRAP", SIGTRAP},     SignalName{"SIGABRT", SIGABRT},
    SignalName{"SIGBUS", SIGBUS},       SignalName{"SIGFPE", SIGFPE},
    SignalName{"SIGUSR1", SIGUSR1},     SignalName{"SIGSEGV", SIGSEGV},
    SignalName{"SIGUSR2", SIGUSR2},     SignalName{"SIGPIPE", SIGPIPE},
    SignalName{"SIGALRM", SIGALRM},     SignalName{"SIGTERM", SIGTERM},
    SignalName{"SIGCHLD", SIGCHLD},     SignalName{"SIGCONT", SIGCONT},
    SignalName{"SIGTSTP", SIGTSTP},     SignalName{"SIGTTIN", SIGTTIN},
    SignalName{"SIGTTOU", SIGTTOU},     SignalName{"SIGURG", SIGURG},
    SignalName{"SIGXCPU", SIGXCPU},     SignalName{"SIGXFSZ", SIGXFSZ},
    SignalName{"SIGVTALRM", SIGVTALRM}, SignalName{"SIGPROF", SIGPROF},
    SignalName{"SIGWINCH", SIGWINCH},   SignalName{"SIGIO", SIGIO},
    SignalName{"SIGPWR", SIGPWR},       SignalName{"SIGSYS", SIGSYS},
};

}  // namespace

std::optional<long long> python_int(std::string_view text) {
  text = trimmed(text);
  bool const negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  std::string digits = negative ? "-" : "";
  char before = '_';  // an underscore may neither begin nor follow another
  for (char const c : text) {
    if (c == '_' && before == '_') return std::nullopt;
    if (c != '_') digits += c;
    before = c;
  }
  if (before == '_' || (!text.empty() && text.front() == '-')) return std::nullopt;
  return parse_int(digits);
}

std::optional<double> python_real(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if (text.empty() ||
      (std::isdigit(static_cast<unsigned char>(text.back())) == 0 && text.back() != '.'))
    return std::nullopt;
  double value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> python_bool(std::string_view text) {
  auto const word = lower(text);
  for (auto const* yes : {"1", "true", "t", "yes", "y"})
    if (word == yes) return true;
  for (auto const* no : {"0", "false", "f", "no", "n"})
    if (word == no) return false;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  auto const first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    auto const at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<std::pair<int, int>> parse_node_range(std::string_view text) {
  auto const parts = split(text, ':');
  auto const min = small_int(parts.front());
  auto const max = small_int(parts.back());
  if (parts.size() > 2 || !min || !max)
    return wrong(quoted(text) + " is neither a number nor MIN:MAX",
                 "e.g. --nnodes=4 or --nnodes=2:4");
  if (*min < 1 || *max < *min)
    return wrong(quoted(text) + " asks for " + std::to_string(*min) + " to " +
                     std::to_string(*max) + " nodes; 0 < MIN <= MAX must hold",
                 "e.g. --nnodes=4 or --nnodes=2:4");
  return std::pair{*min, *max};
}

Result<NprocSpec> parse_nproc(std::string_view text) {
  using Kind = NprocSpec::Kind;
  if (auto const count = python_int(text)) {
    constexpr int kMaxWorkers = 4096;  // a process each: more is a typing error
    if (*count < 1 || *count > kMaxWorkers)
      return wrong(quoted(text) + " is no possible number of workers",
                   "1 to " + std::to_string(kMaxWorkers) + ", auto, gpu or cpu");
    return NprocSpec{Kind::number, static_cast<int>(*count)};
  }
  if (text == "auto") return NprocSpec{Kind::automatic, 0};
  if (text == "gpu") return NprocSpec{Kind::gpu, 0};
  if (text == "cpu") return NprocSpec{Kind::cpu, 0};
  if (text == "xpu")
    return Error{Errc::unsupported, "'xpu': muster cannot count Intel GPUs without PyTorch",
                 "give the number of workers"};
  return wrong(quoted(text) + " is neither a number nor auto, gpu or cpu",
               "give the number of workers");
}

Result<StreamSpec> parse_stream_spec(std::string_view text) {
  StreamSpec spec;
  if (auto const all = stream_set(text)) {
    spec.others = *all;
    return spec;
  }
  for (auto const& part : split(text, ',')) {
    auto const colon = part.find(':');
    auto const rank = colon == std::string::npos ? std::nullopt : small_int(part.substr(0, colon));
    auto const streams =
        colon == std::string::npos ? std::nullopt : stream_set(part.substr(colon + 1));
    if (!rank || !streams || std::isdigit(static_cast<unsigned char>(part.front())) == 0)
      return wrong(quoted(text) + " is neither one of 0, 1, 2, 3 nor a list like 0:3,1:0",
                   "0 none, 1 stdout, 2 stderr, 3 both");
    spec.by_local_rank[*rank] = *streams;
  }
  return spec;
}

Result<std::set<int>> parse_rank_set(std::string_view text) {
  std::set<int> ranks;
  for (auto const& part : split(text, ',')) {
    auto const rank = small_int(part);
    if (!rank) return wrong(quoted(text) + " is no comma list of local ranks", "e.g. 0,1,2");
    ranks.insert(*rank);
  }
  return ranks;
}

std::vector<std::string> parse_words(std::string_view text) {
  if (text.empty()) return {};
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      words.back() += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      words.back() += ',';
      ++i;
    } else {
      words.emplace_back();
    }
  }
  // An empty word would be found in every line: that is a stray comma, not a wish.
  words.erase(std::remove(words.begin(), words.end(), std::string()), words.end());
  return words;
}

Result<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port) {
  text = trimmed(text);
  if (text.empty()) return Endpoint{{}, default_port};
  auto const [host, port_text] = split_endpoint(text);
  Endpoint endpoint{std::string(host), default_port};
  if (port_text) {
    auto const port = parse_port(*port_text);
    if (!port)
      return wrong("the port of " + quoted(text) + " is no number from 0 to 65535",
                   "HOST:PORT, or [ADDRESS]:PORT for IPv6");
    endpoint.port = *port;
  }
  if (!is_host_text(host))
    return wrong("the host of " + quoted(text) + " is neither a name nor an address",
                 "HOST:PORT, or [ADDRESS]:PORT for IPv6");
  return endpoint;
}

Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text) {
  std::map<std::string, std::string> conf;
  if (trimmed(text).empty()) return conf;
  for (auto const& part : split(trimmed(text), ',')) {
    auto const equals = part.find('=');
    auto const key = trimmed(std::string_view(part).substr(0, equals));
    auto const value = equals == std::string::npos
                           ? std::string_view{}
                           : trimmed(std::string_view(part).substr(equals + 1));
    if (key.empty()) return wrong(quoted(text) + " is not of the form key=value,key=value");
    if (value.empty())
      return wrong("the key '" + std::string(key) + "' of " + quoted(text) + " has no value");
    auto const [known, is_new] = conf.emplace(key, value);
    if (!is_new && known->second != value)
      return wrong("the key '" + std::string(key) + "' has two values: '" + known->second +
                   "' and '" + std::string(value) + "'");
  }
  return conf;
}

Result<std::vector<PortRange>> parse_port_ranges(std::string_view text) {
  std::vector<PortRange> ranges;
  std::size_t count = 0;
  for (auto const& part : split(text, ',')) {
    auto const dash = part.find('-');
    auto const first = parse_port(trimmed(std::string_view(part).substr(0, dash)));
    auto const last = dash == std::string::npos
                          ? first
                          : parse_port(trimmed(std::string_view(part).substr(dash + 1)));
    if (!first || !last || *first == 0 || *last < *first)
      return wrong(quoted(part) + " is neither a port nor a range of ports",
                   "e.g. 29600-29620,29700");
    ranges.push_back({*first, *last});
    count += ranges.back().size();
  }
  if (count <= kPortRests)
    return wrong(
        quoted(text) + " names " + std::to_string(count) + " of at least " +
            std::to_string(kPortRests + 1) + " ports",
        "each round has a port that the next " + std::to_string(kPortRests) + " rounds do not use");
  return ranges;
}

SignalList parse_signals(std::string_view text) {
  SignalList list;
  for (auto const& part : split(text, ',')) {
    auto const name = trimmed(part);
    if (name.empty()) continue;
    auto const known = std::find_if(kSignals.begin(), kSignals.end(),
                                    [&](SignalName const& signal) { return signal.name == name; });
    if (known == kSignals.end()) {
      list.unknown.emplace_back(name);
    } else if (std::find(list.numbers.begin(), list.numbers.end(), known->number) ==
               list.numbers.end()) {
      list.numbers.push_back(known->number);
    }
  }
  return list;
}

bool is_loopback(std::string_view host) {
  auto const name = lower(host);
  return name.empty() || name == "localhost" || name == "ip6-localhost" || name == "::1" ||
         name.compare(0, 4, "127.") == 0;
}

}  // namespace muster::launch
