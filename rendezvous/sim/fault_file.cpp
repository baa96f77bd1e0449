// SPDX-License-Identifier: Apache-2.0
// A strict reader: every word of a line is accounted for.

#include "rendezvous/sim/fault_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster::sim {
namespace {

using Words = std::vector<std::string_view>;

constexpr double kLatest = 1e6;  // seconds

Error unexpected(std::string what, std::string hint) {
  return {Errc::bad_input, std::move(what), std::move(hint)};
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

Words split(std::string_view line) {
  Words words;
  while (true) {
    auto const begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    auto const end = line.find_first_of(" \t\r");
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end);
  }
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
    return std::nullopt;
  return value;
}

struct Reader {
  NodeIndex nodes;

  Result<NodeIndex> node(std::string_view text) const {
    std::uint32_t value = 0;
    auto const* const end = text.data() + text.size();
    auto const digits = text.size() > 1 && text.front() == 'h';
    auto const read =
        digits ? std::from_chars(text.data() + 1, end, value) : std::from_chars_result{};
    if (!digits || read.ec != std::errc{} || read.ptr != end || value == 0 || value > nodes)
      return unexpected("no node is called " + quoted(text),
                        "nodes are h1 to " + node_name(nodes - 1));
    return value - 1;
  }

  Result<NodeGroup> group(std::string_view text) const {
    NodeGroup group;
    while (true) {
      auto const comma = text.find(',');
      MUSTER_TRY(auto const one, node(text.substr(0, comma)));
      if (std::find(group.begin(), group.end(), one) != group.end())
        return unexpected(node_name(one) + " stands twice in a group", "name it once");
      group.push_back(one);
      if (comma == std::string_view::npos) return group;
      text.remove_prefix(comma + 1);
    }
  }

  Result<Fault> partition(Words const& words) const {
    fault::Partition partition;
    std::vector<NodeIndex> named;
    for (std::size_t i = 2; i < words.size(); i += 2) {
      MUSTER_TRY(auto const next, group(words[i]));
      for (auto const one : next) {
        if (std::find(named.begin(), named.end(), one) != named.end())
          return unexpected(node_name(one) + " is in two groups", "name it in one");
        named.push_back(one);
      }
      partition.groups.push_back(next);
      if (i + 1 < words.size() && (words[i + 1] != "|" || i + 2 == words.size()))
        return unexpected("expected '|' between groups", "partition h1,h2 | h3");
    }
    if (partition.groups.empty()) return unexpected("no group is named", "partition h1,h2 | h3");
    return Fault{std::move(partition)};
  }

  Result<Fault> oneway(Words const& words) const {
    if (words.size() != 5 || words[3] != ">")
      return unexpected("expected two groups with '>' between", "oneway h1 > h2,h3");
    MUSTER_TRY(auto const from, group(words[2]));
    MUSTER_TRY(auto const to, group(words[4]));
    return Fault{fault::OneWay{from, to}};
  }

  Result<Fault> weather(Words const& words) const {
    fault::Weather weather;
    for (std::size_t i = 2; i < words.size(); ++i) {
      auto const equals = words[i].find('=');
      auto const key = words[i].substr(0, equals);
      auto value =
          equals == std::string_view::npos ? std::string_view{} : words[i].substr(equals + 1);
      if (key == "delay") {
        MUSTER_TRY(weather.most_delay, parse_duration(value));
        continue;
      }
      auto const percent = !value.empty() && value.back() == '%';
      if (percent) value.remove_suffix(1);
      auto const read = number(value);
      if (read && key == "loss" && percent && *read <= 100)
        weather.loss = *read / 100;
      else if (read && key == "breaks" && !percent)
        weather.breaks_per_second = *read;
      else
        return unexpected(quoted(words[i]) + " says nothing about the weather",
                          "weather delay=20ms loss=1% breaks=0.1");
    }
    if (words.size() == 2) return unexpected("no weather is given", "weather delay=20ms loss=1%");
    return Fault{weather};
  }

  template <class Kind>
  Result<Fault> lasting(Words const& words) const {
    MUSTER_TRY(auto const at, node(words[2]));
    MUSTER_TRY(auto const length, parse_duration(words[3]));
    return Fault{Kind{at, length}};
  }

  template <class Kind>
  Result<Fault> on_node(Words const& words) const {
    MUSTER_TRY(auto const at, node(words[2]));
    return Fault{Kind{at}};
  }

  Result<Fault> kill(Words const& words) const {
    MUSTER_TRY(auto const at, node(words[2]));
    if (words[3] != "agent" && words[3] != "both")
      return unexpected("expected 'agent' or 'both', not " + quoted(words[3]), "kill h3 agent");
    return Fault{fault::Kill{at, words[3] == "both"}};
  }

  Result<Fault> fail(Words const& words) const {
    MUSTER_TRY(auto const at, node(words[2]));
    std::int32_t code = 0;
    auto const* const end = words[3].data() + words[3].size();
    auto const [read, error] = std::from_chars(words[3].data(), end, code);
    if (error != std::errc{} || read != end || code < 1 || code > 255)
      return unexpected(quoted(words[3]) + " is no exit code of a failure", "fail h2 3");
    return Fault{fault::FailWorker{at, code}};
  }

  Result<Fault> broken(Words const& words) const {
    MUSTER_TRY(auto const a, node(words[2]));
    MUSTER_TRY(auto const b, node(words[3]));
    if (a == b) return unexpected("a node has no link to itself", "break h1 h2");
    return Fault{fault::Break{a, b}};
  }
};

struct Verb {
  std::string_view name;
  std::size_t words;  // in all; 0: its reader counts
  Result<Fault> (*read)(Reader const&, Words const&);
};

constexpr auto kHeal = [](Reader const&, Words const&) -> Result<Fault> {
  return Fault{fault::Heal{}};
};
constexpr auto kFinish = [](Reader const&, Words const&) -> Result<Fault> {
  return Fault{fault::FinishWorkers{}};
};

Verb const kVerbs[] = {
    {"partition", 0, [](Reader const& r, Words const& w) { return r.partition(w); }},
    {"oneway", 0, [](Reader const& r, Words const& w) { return r.oneway(w); }},
    {"heal", 2, kHeal},
    {"break", 4, [](Reader const& r, Words const& w) { return r.broken(w); }},
    {"weather", 0, [](Reader const& r, Words const& w) { return r.weather(w); }},
    {"pause", 4, [](Reader const& r, Words const& w) { return r.lasting<fault::Pause>(w); }},
    {"freeze", 4, [](Reader const& r, Words const& w) { return r.lasting<fault::Freeze>(w); }},
    {"late", 4, [](Reader const& r, Words const& w) { return r.lasting<fault::Late>(w); }},
    {"power", 3, [](Reader const& r, Words const& w) { return r.on_node<fault::PowerLoss>(w); }},
    {"kill", 4, [](Reader const& r, Words const& w) { return r.kill(w); }},
    {"start", 3, [](Reader const& r, Words const& w) { return r.on_node<fault::Start>(w); }},
    {"term", 3, [](Reader const& r, Words const& w) { return r.on_node<fault::Terminate>(w); }},
    {"fail", 4, [](Reader const& r, Words const& w) { return r.fail(w); }},
    {"stick", 3, [](Reader const& r, Words const& w) { return r.on_node<fault::Stick>(w); }},
    {"finish", 2, kFinish},
};

Result<TimedFault> parse_line(Reader const& reader, Words const& words) {
  auto const at = number(words[0]);
  if (!at || *at > kLatest)
    return unexpected("expected seconds, at most a million, not " + quoted(words[0]), "5.0 heal");
  if (words.size() < 2) return unexpected("nothing follows the time", "5.0 heal");
  for (auto const& verb : kVerbs) {
    if (verb.name != words[1]) continue;
    if (verb.words != 0 && verb.words != words.size())
      return unexpected(quoted(verb.name) + " takes " + std::to_string(verb.words - 2) +
                            " words, not " + std::to_string(words.size() - 2),
                        "see muster simulate --help");
    MUSTER_TRY(auto const what, verb.read(reader, words));
    return TimedFault{Duration{static_cast<std::int64_t>(*at * 1e9)}, what};
  }
  return unexpected(quoted(words[1]) + " is no fault", "see muster simulate --help");
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  auto digits = text;
  double unit = 1e9;
  if (digits.ends_with("ms")) {
    digits.remove_suffix(2);
    unit = 1e6;
  } else if (digits.ends_with("s")) {
    digits.remove_suffix(1);
  }
  auto const value = number(digits);
  if (!value || *value > kLatest)
    return unexpected(quoted(text) + " is no length of time", "write 2s, 1.5s or 250ms");
  return Duration{static_cast<std::int64_t>(*value * unit)};
}

Result<std::vector<TimedFault>> parse_faults(std::string_view text, NodeIndex nodes) {
  std::vector<TimedFault> faults;
  Reader const reader{nodes};
  for (std::size_t line = 1; !text.empty(); ++line) {
    auto const end = text.find('\n');
    auto const words = split(text.substr(0, std::min(end, text.find('#'))));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.empty()) continue;
    auto fault = parse_line(reader, words);
    if (!fault) {
      auto error = fault.error();
      error.what = "line " + std::to_string(line) + ": " + error.what;
      return error;
    }
    faults.push_back(*std::move(fault));
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](auto const& a, auto const& b) { return a.at < b.at; });
  return faults;
}

}  // namespace muster::sim
