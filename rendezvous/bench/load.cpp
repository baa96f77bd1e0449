// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bench/load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kStallMs = 10'000;

struct Connection {
  int socket;  // the peer's
  Script script;
  std::string burst;     // script.request, depth times
  std::size_t part = 0;  // bytes of a reply that is not complete
};

// How many replies end within `count` more bytes.
std::size_t replies_in(Connection& connection, char const* bytes, std::size_t count) {
  if (connection.script.reply_bytes == 0)
    return static_cast<std::size_t>(std::count(bytes, bytes + count, '\n'));
  connection.part += count;
  auto const whole = connection.part / connection.script.reply_bytes;
  connection.part %= connection.script.reply_bytes;
  return whole;
}

Result<std::vector<Connection>> prepare(Peer const& peer, Load const& load,
                                        std::function<Script(std::size_t)> const& script) {
  MUSTER_TRY(auto const sockets, peer.connections(load.connections));
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < load.connections; ++i) {
    Connection connection{sockets[i], script(i), {}, 0};
    for (std::size_t d = 0; d < load.depth; ++d) connection.burst += connection.script.request;
    MUSTER_CHECK(send_all(connection.socket, connection.script.setup));
    MUSTER_TRY(auto const reply, receive(connection.socket, connection.script.setup_reply));
    connections.push_back(std::move(connection));
  }
  return connections;
}

// An epoll set over the connections' sockets; data is the index.
Result<UniqueFd> watch(std::vector<Connection> const& connections) {
  UniqueFd set{::epoll_create1(EPOLL_CLOEXEC)};
  if (!set) return from_errno(errno, "epoll_create1");
  for (std::size_t i = 0; i < connections.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (::epoll_ctl(set.get(), EPOLL_CTL_ADD, connections[i].socket, &event) != 0)
      return from_errno(errno, "epoll_ctl");
  }
  return set;
}

// Reads what is there and, unless the run is over, sends as many requests as were answered; how
// many that were.
Result<std::size_t> turn(Connection& connection, bool go_on) {
  std::array<char, 65'536> buffer;
  auto const count = ::recv(connection.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count == 0) return Error{Errc::closed, "the server closed a connection", {}};
  if (count < 0 && errno == EAGAIN) return std::size_t{0};
  if (count < 0) return from_errno(errno, "recv");
  auto const done = replies_in(connection, buffer.data(), static_cast<std::size_t>(count));
  if (done == 0 || !go_on) return done;
  auto const bytes =
      std::string_view{connection.burst}.substr(0, done * connection.script.request.size());
  MUSTER_CHECK(send_all(connection.socket, bytes));
  return done;
}

// One wait and its turns; the replies.
Result<std::size_t> turns(Peer const& peer, int set, std::vector<epoll_event>& events,
                          std::vector<Connection>& connections, bool go_on) {
  int const ready = ::epoll_wait(set, events.data(), static_cast<int>(events.size()), kStallMs);
  if (ready <= 0) return Error{Errc::timeout, peer.name() + ": no answer within 10 s", {}};
  std::size_t done = 0;
  for (int i = 0; i < ready; ++i) {
    auto& connection = connections[events[static_cast<std::size_t>(i)].data.u64];
    MUSTER_TRY(auto const replies, turn(connection, go_on));
    done += replies;
  }
  return done;
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<UniqueFd> connect_loopback(std::uint16_t port) {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!socket) return from_errno(errno, "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return from_errno(errno, "connect to port " + std::to_string(port));
  int const on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // BBR, where it is the default, paces a connection that only ever sends small requests down to a
  // crawl; it is not what is measured here.
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  return socket;
}

Result<void> send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return from_errno(errno, "send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return ok();
}

Result<std::string> receive(int fd, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, kStallMs) <= 0) return Error{Errc::timeout, "no answer within 10 s", {}};
    auto const got = ::recv(fd, bytes.data() + have, count - have, 0);
    if (got <= 0) return Error{Errc::closed, "the server closed a connection", {}};
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

Result<Rate> run_load(Peer const& peer, Load const& load,
                      std::function<Script(std::size_t)> const& script) {
  MUSTER_TRY(auto connections, prepare(peer, load, script));
  MUSTER_TRY(auto const set, watch(connections));
  for (auto& connection : connections) MUSTER_CHECK(send_all(connection.socket, connection.burst));
  std::vector<epoll_event> events(std::min<std::size_t>(load.connections, 512));
  std::uint64_t done = 0;
  auto const cpu_before = peer.cpu_seconds();
  auto const begin = SteadyClock::now();
  auto time = begin;
  while (time < begin + load.length) {
    MUSTER_TRY(auto const replies, turns(peer, set.get(), events, connections, true));
    done += replies;
    time = SteadyClock::now();
  }
  auto const rate = rate_of(done, time - begin, peer.cpu_seconds() - cpu_before);
  // Every request is answered, also those of the last moment.
  std::size_t under_way = load.connections * load.depth;
  while (under_way > 0) {
    MUSTER_TRY(auto const replies, turns(peer, set.get(), events, connections, false));
    under_way -= replies;
  }
  return rate;
}

}  // namespace muster::bench
