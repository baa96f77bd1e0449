// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/listener.hpp"

#include <algorithm>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <vector>

namespace muster::net {
namespace {

using asio::detail::socket_option::integer;

// A peer whose host is gone is noticed within about two minutes, instead of never.
void prepare(tcp::acceptor& acceptor, error_code& ec) {
  close_on_exec(acceptor.native_handle());
  acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (ec) return;
  error_code ignored;  // each of these only improves matters
  acceptor.set_option(tcp::no_delay(true), ignored);
  acceptor.set_option(asio::socket_base::keep_alive(true), ignored);
  acceptor.set_option(integer<IPPROTO_TCP, TCP_KEEPIDLE>(60), ignored);
  acceptor.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(15), ignored);
  acceptor.set_option(integer<IPPROTO_TCP, TCP_KEEPCNT>(4), ignored);
}

Error explain(error_code const& failure, std::string const& where, std::uint16_t port) {
  auto error = from_asio(failure, "cannot listen on " + where);
  if (error.code == Errc::address_in_use)
    error.hint =
        "another program has the port: see who with ss -ltnp 'sport = :" + std::to_string(port) +
        "', or choose another";
  if (error.code == Errc::permission)
    error.hint = "ports below 1024 need root; choose a higher one";
  if (failure == boost::system::errc::too_many_files_open ||
      failure == boost::system::errc::too_many_files_open_in_system)
    error.code = Errc::limit;
  if (failure == boost::system::errc::address_not_available)
    error = Error{Errc::bad_input, error.what, "the address is not one of this host's"};
  return error;
}

Result<tcp::acceptor> listen_at(asio::io_context& io, tcp::endpoint const& endpoint,
                                bool both_families) {
  tcp::acceptor acceptor(io);
  error_code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) prepare(acceptor, ec);
  if (!ec && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(!both_families), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) acceptor.non_blocking(true, ec);
  if (ec) return explain(ec, to_text(endpoint), endpoint.port());
  return acceptor;
}

bool lacks_ipv6(asio::io_context& io) {
  tcp::acceptor probe(io);
  error_code ec;
  probe.open(tcp::v6(), ec);
  if (!ec) probe.bind(tcp::endpoint(asio::ip::address_v6::loopback(), 0), ec);
  return bool(ec);
}

Result<tcp::acceptor> listen_on_name(asio::io_context& io, std::string const& host,
                                     std::uint16_t port) {
  tcp::resolver resolver(io);
  error_code ec;
  auto const found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, ec);
  if (ec)
    return Error{Errc::not_found, "the host name '" + host + "' does not resolve: " + ec.message(),
                 "give a name or address of this host"};
  // IPv4 first: who is told "localhost" is as often called at 127.0.0.1 as by that name.
  std::vector<tcp::endpoint> endpoints;
  for (auto const& entry : found) endpoints.push_back(entry.endpoint());
  std::stable_partition(endpoints.begin(), endpoints.end(),
                        [](tcp::endpoint const& each) { return each.address().is_v4(); });
  Result<tcp::acceptor> last = Error{Errc::not_found, "'" + host + "' has no address", {}};
  for (auto const& endpoint : endpoints) {
    last = listen_at(io, endpoint, false);
    if (last || last.error().code == Errc::address_in_use) return last;
  }
  return last;
}

}  // namespace

Result<tcp::acceptor> listen_on(asio::io_context& io, std::string const& host, std::uint16_t port) {
  if (host.empty() || host == "*" || host == "::") {
    auto both = listen_at(io, tcp::endpoint(tcp::v6(), port), true);
    if (both || both.error().code == Errc::address_in_use || !lacks_ipv6(io)) return both;
    return listen_at(io, tcp::endpoint(tcp::v4(), port), false);
  }
  error_code ec;
  auto const address = asio::ip::make_address(host, ec);
  if (ec) return listen_on_name(io, host, port);
  return listen_at(io, tcp::endpoint(address, port), false);
}

Result<tcp::acceptor> listen_in_ranges(asio::io_context& io, std::string const& host,
                                       std::span<PortRange const> ranges,
                                       std::span<std::uint16_t const> avoid) {
  std::string text;
  for (auto const& range : ranges) {
    for (unsigned port = range.first; port <= range.last; ++port) {
      auto const candidate = static_cast<std::uint16_t>(port);
      if (std::find(avoid.begin(), avoid.end(), candidate) != avoid.end()) continue;
      auto bound = listen_on(io, host, candidate);
      if (bound || bound.error().code != Errc::address_in_use) return bound;
    }
    text +=
        (text.empty() ? "" : ", ") + std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  return Error{Errc::address_in_use, "no free port on '" + host + "' among " + text,
               "name more ports, or see who has these with ss -ltnp"};
}

std::string to_text(tcp::endpoint const& endpoint) {
  auto const address = endpoint.address();
  auto const port = ":" + std::to_string(endpoint.port());
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string() + port;
  if (address.is_v6()) return "[" + address.to_string() + "]" + port;
  return address.to_string() + port;
}

void close_on_exec(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

}  // namespace muster::net
