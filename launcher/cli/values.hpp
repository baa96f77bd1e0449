// SPDX-License-Identifier: Apache-2.0
#pragma once
// The small grammars of option values, each a pure function. Errors are bad_input and quote the
// text; the caller says which option it was.

#include "launcher/cli/options.hpp"
#include "rendezvous/base/result.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::launch {

// Python's int(): surrounding space, a sign and single underscores between digits are allowed.
std::optional<long long> python_int(std::string_view text);
// Python's float(), without its inf and nan.
std::optional<double> python_real(std::string_view text);
// torchrun's words for booleans in --rdzv-conf, any case.
std::optional<bool> python_bool(std::string_view text);

std::string_view trimmed(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

// "N" or "MIN:MAX", 0 < MIN <= MAX.
Result<std::pair<int, int>> parse_node_range(std::string_view text);
// A number above 0, auto, gpu or cpu.
Result<NprocSpec> parse_nproc(std::string_view text);
// "0".."3", or "RANK:N,RANK:N": of repeated ranks the last wins.
Result<StreamSpec> parse_stream_spec(std::string_view text);
// "0,2,5".
Result<std::set<int>> parse_rank_set(std::string_view text);
// Comma list in which ",," is one comma inside a word.
std::vector<std::string> parse_words(std::string_view text);
// "host", "host:port", "[v6]", "[v6]:port", "v6".
Result<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port);
// "key=value,key=value", both sides trimmed and not empty.
Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text);

// "29600-29620,29700": enough for kPortRests rounds and the next one.
Result<std::vector<PortRange>> parse_port_ranges(std::string_view text);

struct SignalList {
  std::vector<int> numbers;          // without repeats, in the order given
  std::vector<std::string> unknown;  // names that this system does not have
};
// "SIGTERM,SIGINT".
SignalList parse_signals(std::string_view text);

// Whether only processes of this machine can reach the host.
bool is_loopback(std::string_view host);

}  // namespace muster::launch
