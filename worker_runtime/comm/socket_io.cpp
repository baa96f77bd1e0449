// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/socket_io.hpp"

#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace muster::worker {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<Addresses> resolve(std::string const& host, std::uint16_t port, bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE | AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  auto const service = std::to_string(port);
  auto const failed =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (failed != 0)
    return Error{Errc::unreachable, "address " + host + ": " + ::gai_strerror(failed), {}};
  return Addresses(found, ::freeaddrinfo);
}

void set_option(int fd, int level, int name, int value) {
  // Best effort: an option that the system lacks costs speed, not correctness.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

UniqueFd make_socket(addrinfo const& address) {
  return UniqueFd(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 const&>(storage).sin6_port
                   : reinterpret_cast<sockaddr_in const&>(storage).sin_port);
}

Result<void> finish_connect(int fd, std::string const& where, Deadline deadline) {
  pollfd entry{fd, POLLOUT, 0};
  while (::poll(&entry, 1, poll_ms(deadline)) <= 0) {
    if (deadline.passed(now()))
      return Error{Errc::timeout, "connecting to " + where + ": no answer in time", {}};
  }
  int failure = 0;
  socklen_t length = sizeof failure;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) != 0) failure = errno;
  return failure == 0 ? ok() : Result<void>(from_errno(failure, "connecting to " + where));
}

}  // namespace

Result<Listener> listen_on(std::string const& address) {
  // All addresses: IPv6's takes IPv4 too; where there is no IPv6, IPv4's.
  Error last{Errc::system, "no address to listen on", {}};
  for (auto const& host : address.empty() ? std::vector<std::string>{"::", "0.0.0.0"}
                                          : std::vector<std::string>{address}) {
    MUSTER_TRY(auto const addresses, resolve(host, 0, true));
    Listener listener{make_socket(*addresses), 0};
    auto const fd = listener.fd.get();
    if (addresses->ai_family == AF_INET6 && address.empty())
      set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (fd >= 0 && ::bind(fd, addresses->ai_addr, addresses->ai_addrlen) == 0 &&
        ::listen(fd, SOMAXCONN) == 0) {
      listener.port = port_of(fd);
      return listener;
    }
    last = from_errno(errno, "listening on " + host);
  }
  return last;
}

Result<UniqueFd> connect_to(std::string const& address, std::uint16_t port, Deadline deadline) {
  auto const where = address + " port " + std::to_string(port);
  MUSTER_TRY(auto const addresses, resolve(address, port, false));
  Error last{Errc::unreachable, where + " has no address", {}};
  for (auto const* each = addresses.get(); each != nullptr; each = each->ai_next) {
    auto fd = make_socket(*each);
    if (!fd) {
      last = from_errno(errno, "socket");
      continue;
    }
    if (::connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) {
      last = from_errno(errno, "connecting to " + where);
      continue;
    }
    auto connected = finish_connect(fd.get(), where, deadline);
    if (connected) {
      tune_socket(fd.get());
      return fd;
    }
    last = std::move(connected).error();
  }
  return last;
}

Result<UniqueFd> accept_from(Listener const& listener) {
  UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    tune_socket(fd.get());
    return fd;
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
    return from_errno(errno, "accepting a peer's connection");
  return UniqueFd();
}

void tune_socket(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Result<void> write_all(int fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    auto const sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return from_errno(errno, "sending to a peer");
    if (deadline.passed(now())) return Error{Errc::timeout, "a peer does not read", {}};
    pollfd entry{fd, POLLOUT, 0};
    static_cast<void>(::poll(&entry, 1, poll_ms(deadline)));
  }
  return ok();
}

int poll_ms(Deadline deadline) {
  auto const left = std::min<Duration>(deadline.left(now()), std::chrono::minutes{1});
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

bool is_silent(int fd) {
  constexpr int kRepeats = 6;
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_retransmits >= kRepeats;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost" ||
         address.starts_with("::ffff:127.");
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "this host";
  return name.data();
}

}  // namespace muster::worker
