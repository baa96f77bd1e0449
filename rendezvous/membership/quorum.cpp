// SPDX-License-Identifier: Apache-2.0
// The rules of voting, one function each.

#include "rendezvous/membership/quorum.hpp"

#include <algorithm>

namespace muster::membership {
namespace {

// So many of so many voters, and whether their host is among those who answered.
bool suffices(std::size_t have, std::size_t electorate, bool with_host) {
  return 2 * have > electorate || (2 * have == electorate && with_host);
}

}  // namespace

Seats choose_voters(Table const& table, Seats const& where, Incarnation host) {
  Seats voters;
  auto const count = std::min(table.size(), kMostVoters);
  for (std::size_t i = 0; i < count; ++i) voters.push_back(where[i * table.size() / count]);
  auto const is_host = [host](Seat const& seat) { return seat.node == host; };
  auto const hosts = std::find_if(where.begin(), where.end(), is_host);
  if (hosts != where.end() && std::none_of(voters.begin(), voters.end(), is_host))
    voters.back() = *hosts;
  return voters;
}

bool has_quorum(Electorate const& base, std::set<Incarnation> const& answered,
                std::set<Incarnation> const& proven_dead) {
  std::size_t electorate = 0, have = 0;
  for (auto const& voter : base.voters) {
    if (proven_dead.contains(voter.node)) continue;
    ++electorate;
    if (answered.contains(voter.node)) ++have;
  }
  return suffices(have, electorate, answered.contains(base.host));
}

bool is_among(Seats const& voters, Incarnation node) {
  return std::any_of(voters.begin(), voters.end(),
                     [node](Seat const& seat) { return seat.node == node; });
}

TimePoint confirmed_by_quorum(Incarnation host, Seats const& voters, Confirmations const& last,
                              std::set<Incarnation> const& proven_dead) {
  struct Voice {
    TimePoint at;
    bool votes = false, hosts = false;
  };
  std::vector<Voice> voices;
  voices.reserve(voters.size() + 1);
  std::size_t electorate = 0;
  auto host_votes = false;
  auto const hear = [&](Incarnation node, bool votes) {
    auto const hosts = node == host;
    host_votes = host_votes || hosts;
    if (auto const found = last.find(node); found != last.end())
      voices.push_back({found->second, votes, hosts});
  };
  for (auto const& voter : voters) {
    auto const votes = !proven_dead.contains(voter.node);
    if (votes) ++electorate;
    hear(voter.node, votes);
  }
  if (!host_votes) hear(host, false);
  std::sort(voices.begin(), voices.end(),
            [](Voice const& a, Voice const& b) { return a.at > b.at; });
  std::size_t have = 0;
  auto with_host = false;
  for (auto const& voice : voices) {
    if (voice.votes) ++have;
    with_host = with_host || voice.hosts;
    if (suffices(have, electorate, with_host)) return voice.at;
  }
  return TimePoint::min();
}

}  // namespace muster::membership
