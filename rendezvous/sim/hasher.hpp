// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every field of every struct is taken, by reflection: one that is added later counts at once. What
// does not count is named: words for people, and numbers that only tell calls or starts apart.

#include "rendezvous/sim/channels.hpp"

#include <boost/pfr.hpp>

#include <algorithm>

namespace muster::sim {

class Hasher {
 public:
  Hasher(TimePoint now, ConnectionNames const& names) : now_(now), names_(names) {}

  Digest result() const { return {high_, low_}; }

  void add(std::uint64_t value) {
    high_ = mixed(high_ ^ value);
    low_ = mixed(low_ + value * 0x9E3779B97F4A7C15ULL + 1);
  }

  void put(TimePoint moment) {
    if (moment == TimePoint::max() || moment == TimePoint::min())
      add(moment == TimePoint::max() ? 1 : 2);
    else
      add(static_cast<std::uint64_t>((moment - now_).count()) << 2);
  }
  void put(Duration duration) { add(static_cast<std::uint64_t>(duration.count())); }
  // Names and addresses follow from ids, all else is for people; but that there is none may matter.
  void put(std::string const& text) { add(text.empty() ? 0 : 1); }
  void put(ConnectionId id) {
    auto const name = names_.find(id);
    add(name == names_.end() ? 0 : name->second);
  }
  template <class T>
  void put(T const& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      add(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      add(static_cast<std::uint64_t>(value * 1e6));
    } else {
      boost::pfr::for_each_field(value, [&](auto const& field) { put(field); });
    }
  }
  template <class T>
  void put(std::optional<T> const& value) {
    add(value ? 1 : 0);
    if (value) put(*value);
  }
  template <class T>
  void put(std::shared_ptr<T> const& value) {
    add(value ? 1 : 0);
    if (value) put(*value);
  }
  template <class... T>
  void put(std::variant<T...> const& value) {
    add(value.index());
    std::visit([&](auto const& alternative) { put(alternative); }, value);
  }
  template <class A, class B>
  void put(std::pair<A, B> const& value) {
    put(value.first);
    put(value.second);
  }
  template <class T>
  void put(std::vector<T> const& values) {
    range(values);
  }
  template <class T>
  void put(std::set<T> const& values) {
    range(values);
  }
  template <class K, class V>
  void put(std::map<K, V> const& values) {
    range(values);
  }
  template <class T, std::size_t n>
  void put(std::array<T, n> const& values) {
    range(values);
  }

  // Stamps are moments, too, though they travel as numbers.
  void put(membership::Lease const& m) {
    auto const& [stamp, host_stamp, dead, status, vouches] = m;
    put_stamp(stamp), put_stamp(host_stamp), put(dead), put(status), put(vouches);
  }
  void put(membership::Ack const& m) {
    auto const& [stamp, host_stamp, quorum_age, dead, failure_seen] = m;
    put_stamp(stamp), put_stamp(host_stamp), put(quorum_age), put(dead), put(failure_seen);
  }
  void put(membership::Ask const& m) {
    auto const& [stamp, prepared, prepared_in] = m;
    put_stamp(stamp), put(prepared), put(prepared_in);
  }
  void put(membership::Answer const& m) {
    put_stamp(m.stamp_ns);
    put(m.granted);
  }
  // Of the dead only what the invariants ask for.
  void put(Process const& process) {
    if (!process.gone) return fields_but(process, {&process.calls});
    put(process.id), put(process.node), put(process.life), put(process.guardian.alive);
    put(process.is_agent());
    if (process.member) put(process.member->facts.incarnation);
    put(process.hosting ? process.hosting->host.generation : Generation{});
    put(process.workers.generation), put(process.workers.finished);
  }
  void put(Workers const& workers) { fields_but(workers, {&workers.start, &workers.stretch}); }
  // Whatever has other numbers is stale and was dropped.
  void put(due::CallHostAgain const& due) { put(due.process); }
  void put(due::WorkersEnd const& due) { put(due.process); }
  void put(due::WorkersDead const& due) { put(due.process); }
  void put(membership::MemberState const& member) {
    boost::pfr::for_each_field(member, [&]<class T>(T const& field) {
      void const* const place = &field;
      if (place == &member.said) return;                             // to people
      if (place == &member.next_lease && !member.with_host) return;  // a WELCOME sets it anew
      if constexpr (std::is_same_v<T, std::int64_t>)
        put_stamp(field);
      else
        put(field);
    });
  }
  void put(membership::Roster const& roster) { put(roster.map()); }
  void put(Connection const& connection) {  // GCC 12 cannot count its fields
    auto const& [purpose, from, to, callee, open, streams, dialing, sent_again, forgotten] =
        connection;
    put(purpose), put(from), put(to), put(callee), put(open), put(streams);
    put(dialing), put(forgotten), put(sent_again);
  }
  void put(Stream const& stream) {  // what is past is past
    put(std::max(stream.clear_at, now_));
    put(stream.era);
    put(stream.held);
  }

 private:
  template <class T>
  void fields_but(T const& value, std::initializer_list<void const*> without) {
    boost::pfr::for_each_field(value, [&](auto const& field) {
      void const* const place = &field;
      if (std::find(without.begin(), without.end(), place) == without.end()) put(field);
    });
  }
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  void put_stamp(std::int64_t stamp) {
    if (stamp <= 0)
      add(static_cast<std::uint64_t>(stamp));
    else
      put(TimePoint{Duration{stamp}});
  }
  template <class Range>
  void range(Range const& values) {
    add(static_cast<std::uint64_t>(std::distance(values.begin(), values.end())));
    for (auto const& value : values) put(value);
  }

  TimePoint now_;
  ConnectionNames const& names_;
  std::uint64_t high_ = 0x6d757374, low_ = 0x6572;
};

}  // namespace muster::sim
