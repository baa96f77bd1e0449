// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members that a host knows, with counts and two indexes kept beside them: a host of ten
// thousand looks at each of its events without looking at each of its members.

#include "rendezvous/membership/message.hpp"

#include <map>
#include <optional>
#include <set>

namespace muster::membership {

struct Member {
  NodeFacts facts;
  std::uint64_t arrival = 0;
  TimePoint heard;
  std::string seen_from;   // the address that its connection comes from
  std::string reached_at;  // our address that its connection goes to
  bool connected = true;
  Status status;
  std::optional<TableRow> row;        // its place in the round that status.committed names
  Duration dead_sent{}, dead_held{};  // the limits that it was told, and that it says it goes by
  bool suspected = false;
  RoundNumber failure_seen;
  std::size_t place = 0;  // of its row in the newest table: a guess, which row_of checks
  TimePoint ordered;      // when it was last told to do something
  // Changed in a roster by Roster::mark only.
  bool here = true;      // false: known from a record only, it has not called this host yet
  bool seated = false;   // has a place in the committed round
  bool leaving = false;  // it will be released once its workers are dead
  // It was counted out, but no record without it is committed yet: leaving, too, until then.
  bool votes_only = false;

  bool is_eligible() const { return here && !leaving; }
};

// Beyond this many members a host spares words: who comes is told what is waited for, not everybody
// each time; and what is under way to a member is not said again for a lease that crossed it.
inline constexpr std::size_t kSmallJob = 32;

class Roster {
 public:
  using Map = std::map<Incarnation, Member>;

  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  auto find(Incarnation node) { return members_.find(node); }
  auto find(Incarnation node) const { return members_.find(node); }
  // The node id and the given rank of a member that is in the roster stay: the indexes know them.
  Member& at(Incarnation node) { return members_.at(node); }
  Member const& at(Incarnation node) const { return members_.at(node); }
  bool contains(Incarnation node) const { return members_.contains(node); }
  std::size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }
  bool is_large() const { return members_.size() > kSmallJob; }
  Map const& map() const { return members_; }

  // The first of a node id, or of a given rank, that `suits`; nothing is no id and no rank.
  template <class Suits>
  std::optional<Incarnation> with_node_id(std::string const& node_id, Suits const& suits) const {
    return node_id.empty() ? std::nullopt : first_in(by_node_id_, node_id, suits);
  }
  template <class Suits>
  std::optional<Incarnation> with_rank(std::int32_t rank, Suits const& suits) const {
    return rank < 0 ? std::nullopt : first_in(by_rank_, rank, suits);
  }

  // Who could take part in a round; who of them has no place now; who has not called yet; who goes.
  std::size_t eligible() const { return eligible_; }
  std::size_t waiting() const { return waiting_; }
  std::size_t absent() const { return absent_; }
  std::size_t leaving() const { return leaving_; }

  void put(Incarnation node, Member member) {
    erase(node);
    count(member, 1);
    auto const& facts = member.facts;
    if (!facts.node_id.empty()) by_node_id_.emplace(facts.node_id, node);
    if (facts.given_rank >= 0) by_rank_.emplace(facts.given_rank, node);
    members_.insert_or_assign(node, std::move(member));
  }
  void erase(Incarnation node) {
    auto const found = members_.find(node);
    if (found == members_.end()) return;
    count(found->second, -1);
    by_node_id_.erase({found->second.facts.node_id, node});
    by_rank_.erase({found->second.facts.given_rank, node});
    members_.erase(found);
  }
  void mark(Incarnation node, bool Member::*flag, bool value) {
    auto& member = members_.at(node);
    count(member, -1);
    member.*flag = value;
    count(member, 1);
  }

 private:
  template <class Key>
  using Index = std::set<std::pair<Key, Incarnation>>;

  template <class Key, class Suits>
  std::optional<Incarnation> first_in(Index<Key> const& index, Key const& key,
                                      Suits const& suits) const {
    for (auto at = index.lower_bound({key, Incarnation{}}); at != index.end() && at->first == key;
         ++at)
      if (suits(members_.at(at->second))) return at->second;
    return std::nullopt;
  }

  void count(Member const& member, int by) {
    auto const step = static_cast<std::size_t>(by);
    if (member.is_eligible()) eligible_ += step;
    if (member.is_eligible() && !member.seated) waiting_ += step;
    if (!member.here) absent_ += step;
    if (member.leaving) leaving_ += step;
  }

  Map members_;
  Index<std::string> by_node_id_;
  Index<std::int32_t> by_rank_;
  std::size_t eligible_ = 0, waiting_ = 0, absent_ = 0, leaving_ = 0;
};

}  // namespace muster::membership
