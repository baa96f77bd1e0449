// SPDX-License-Identifier: Apache-2.0
// The wait-wake case of store_bench.
#include "rendezvous/base/bytes.hpp"
#include "rendezvous/bench/load.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Waits on the one connection for the key that the other sets, then for the next key.
struct Pair {
  int waiter, setter;
  std::string name;
  std::uint64_t turn = 0;
  std::string out;

  Result<void> start_turn() {
    auto const key = name + std::to_string(++turn);
    std::string list;
    ByteWriter{list}.sized(key);
    out.clear();
    wire::encode(wire::Wait{{1, list}}, out);
    MUSTER_CHECK(send_all(waiter, out));
    out.clear();
    wire::encode(wire::Set{key, "1"}, out);
    return send_all(setter, out);
  }
};

Result<std::vector<Pair>> make_pairs(Peer const& peer, std::size_t count) {
  MUSTER_TRY(auto const sockets, peer.connections(count * 2));
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    // Keys are new in each run: the process's number and the pair's are part of them.
    auto name = "/w" + std::to_string(::getpid()) + "-" +
                std::to_string(SteadyClock::now().time_since_epoch().count()) + "-" +
                std::to_string(i) + ":";
    pairs.push_back(Pair{sockets[2 * i], sockets[2 * i + 1], std::move(name), 0, {}});
  }
  return pairs;
}

Result<UniqueFd> watch(std::vector<Pair> const& pairs) {
  UniqueFd set{::epoll_create1(EPOLL_CLOEXEC)};
  if (!set) return from_errno(errno, "epoll_create1");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (::epoll_ctl(set.get(), EPOLL_CTL_ADD, pairs[i].waiter, &event) != 0)
      return from_errno(errno, "epoll_ctl");
  }
  return set;
}

}  // namespace

Result<Rate> run_wait_wake(Peer const& peer, Load const& load) {
  MUSTER_TRY(auto pairs, make_pairs(peer, std::max<std::size_t>(1, load.connections / 2)));
  MUSTER_TRY(auto const set, watch(pairs));
  for (auto& pair : pairs) MUSTER_CHECK(pair.start_turn());
  std::vector<epoll_event> events(pairs.size());
  std::uint64_t done = 0;
  auto const cpu_before = peer.cpu_seconds();
  auto const begin = SteadyClock::now();
  auto time = begin;
  while (time < begin + load.length) {
    int const ready =
        ::epoll_wait(set.get(), events.data(), static_cast<int>(events.size()), 10'000);
    if (ready <= 0) return Error{Errc::timeout, peer.name() + ": a waiter was not woken", {}};
    for (int i = 0; i < ready; ++i) {
      auto& pair = pairs[events[static_cast<std::size_t>(i)].data.u64];
      char byte = 1;
      if (::recv(pair.waiter, &byte, 1, MSG_DONTWAIT) != 1 || byte != wire::kStopWaiting)
        return Error{Errc::protocol, peer.name() + ": a wait ended wrongly", {}};
      MUSTER_CHECK(pair.start_turn());
      ++done;
    }
    time = SteadyClock::now();
  }
  auto const rate = rate_of(done, time - begin, peer.cpu_seconds() - cpu_before);
  for (auto const& pair : pairs) {
    MUSTER_TRY(auto const last, receive(pair.waiter, 1));
  }
  return rate;
}

}  // namespace muster::bench
