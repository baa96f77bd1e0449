// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/posix_stream.hpp"

#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace muster::net {
namespace {

constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{500};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// poll() until the deadline; 0 where it passed.
int poll_until(int descriptor, short events, Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  while (true) {
    auto const left = deadline.left(now());
    auto const ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    int const ready =
        ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(ms, 1'000'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 0 || deadline.passed(now())) return ready;
  }
}

Result<Addresses> resolve(std::string const& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  int const failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (failure != 0)
    return Error{Errc::not_found,
                 "the host name '" + host + "' does not resolve: " + ::gai_strerror(failure),
                 {}};
  return Addresses(list);
}

Result<UniqueFd> connect_to(addrinfo const& address, Deadline deadline) {
  UniqueFd socket{::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!socket) return from_errno(errno, "socket");
  int const on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return from_errno(errno, "connect");
  if (poll_until(socket.get(), POLLOUT, deadline) == 0) return from_errno(ETIMEDOUT, "connect");
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) return from_errno(failure, "connect");
  return socket;
}

Result<UniqueFd> connect_once(std::string const& host, std::uint16_t port, Deadline deadline) {
  MUSTER_TRY(auto const addresses, resolve(host, port));
  Result<UniqueFd> last = Error{Errc::not_found, "'" + host + "' has no address", {}};
  for (auto const* entry = addresses.get(); entry != nullptr; entry = entry->ai_next) {
    last = connect_to(*entry, deadline);
    if (last) return last;
  }
  return last;
}

}  // namespace

Result<PosixStream> PosixStream::connect(std::string const& host, std::uint16_t port,
                                         Deadline deadline) {
  auto peer = host + ":" + std::to_string(port);
  Duration pause = kFirstPause;
  while (true) {
    auto socket = connect_once(host, port, deadline);
    if (socket) return PosixStream(*std::move(socket), std::move(peer));
    auto const left = deadline.left(now());
    if (left <= Duration::zero())
      return Error{Errc::timeout,
                   "cannot reach " + peer + " before the deadline, last: " + socket.error().what,
                   "is the server running, and is the port open between the hosts?"};
    sleep_for(std::min(pause, left));
    pause = std::min<Duration>(pause * 2, kLongestPause);
  }
}

Result<void> PosixStream::wait_for(short events, Deadline deadline, std::string_view doing) {
  int const ready = poll_until(socket_.get(), events, deadline);
  if (ready > 0) return ok();
  if (ready < 0) return from_errno(errno, "poll");
  return Error{Errc::timeout, std::string(doing) + " " + peer_ + ": the deadline passed", {}};
}

Result<void> PosixStream::write_all(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    auto const sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return from_errno(errno, "write to " + peer_);
    MUSTER_CHECK(wait_for(POLLOUT, deadline, "write to"));
  }
  return ok();
}

Result<void> PosixStream::read_some(std::string& input, Deadline deadline) {
  char chunk[16'384];
  while (true) {
    // Waiting first saves a vain call: the answer is never there at once.
    MUSTER_CHECK(wait_for(POLLIN, deadline, "read from"));
    auto const count = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (count > 0) {
      input.append(chunk, static_cast<std::size_t>(count));
      return ok();
    }
    if (count == 0) return Error{Errc::closed, peer_ + " closed the connection", {}};
    if (errno != EINTR && errno != EAGAIN) return from_errno(errno, "read from " + peer_);
  }
}

void PosixStream::shut_down_sending() {
  ::shutdown(socket_.get(), SHUT_WR);
}

std::string PosixStream::local_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[NI_MAXHOST];
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return {};
  std::string const full = text;
  constexpr std::string_view kMapped = "::ffff:";
  return full.rfind(kMapped, 0) == 0 ? full.substr(kMapped.size()) : full;
}

void sleep_for(Duration length) {
  auto const ns = length.count();
  timespec const ts{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&ts, nullptr);
}

}  // namespace muster::net
