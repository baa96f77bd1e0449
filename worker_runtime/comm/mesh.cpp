// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/mesh.hpp"

#include "rendezvous/base/now.hpp"
#include "worker_runtime/comm/socket_io.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace muster::worker {
namespace {

// The end of a control connection: whatever follows cannot be heard.
void mark_gone(PeerLink& link) {
  link.gone_at = now();
  link.control.reset();
}

Result<void> take_messages(Mesh& mesh, int peer) {
  auto& link = mesh.peer(peer);
  while (true) {
    MUSTER_TRY(auto const missing, missing_bytes(link.inbox));
    if (missing != 0) return ok();
    // The length is in the prefix, which is complete.
    std::uint32_t length = 0;
    link.inbox.copy(reinterpret_cast<char*>(&length), sizeof length, 5);
    auto const whole = kControlPrefixBytes + length;
    MUSTER_TRY(auto message, decode_control(std::string_view(link.inbox).substr(0, whole)));
    link.inbox.erase(0, whole);
    if (auto* abort = std::get_if<Abort>(&message)) {
      auto news = as_told_by(mesh, peer, std::move(abort->error));
      mesh.told = std::move(news.pass_on);
      return std::move(news.report);
    }
    if (std::holds_alternative<Bye>(message)) link.bye = true;
  }
}

}  // namespace

std::string name_of_peer(Mesh const& mesh, int rank) {
  return "rank " + std::to_string(rank) + " (" + mesh.peer(rank).seat.host + ")";
}

void watch_controls(Mesh const& mesh, std::vector<pollfd>& entries) {
  for (auto const& link : mesh.peers)
    if (link.control) entries.push_back(pollfd{link.control.get(), POLLIN, 0});
}

Result<void> read_control(Mesh& mesh, int peer) {
  auto& link = mesh.peer(peer);
  std::array<char, 4'096> bytes;
  while (link.control) {
    auto const got = ::recv(link.control.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ok();
    if (got <= 0) {
      mark_gone(link);
      return ok();
    }
    link.inbox.append(bytes.data(), static_cast<std::size_t>(got));
    MUSTER_CHECK(take_messages(mesh, peer));
  }
  return ok();
}

Result<void> read_controls(Mesh& mesh) {
  for (int peer = 0; peer < mesh.size(); ++peer) MUSTER_CHECK(read_control(mesh, peer));
  return ok();
}

void announce(Mesh& mesh, ControlMessage const& message) {
  auto const bytes = encode(message);
  for (auto& link : mesh.peers) {
    if (!link.control) continue;
    // A peer that cannot take these few bytes now will notice the end of the connection instead.
    static_cast<void>(
        ::send(link.control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
}

News as_told_by(Mesh const& mesh, int peer, Error error) {
  switch (error.code) {
    case Errc::peer_lost:
    case Errc::mismatch:
    case Errc::timeout: {
      News news{error, error};
      news.report.what += ", says " + name_of_peer(mesh, peer);
      return news;
    }
    default: {
      Error const given_up{Errc::peer_lost, name_of_peer(mesh, peer) + " gave up: " + error.what,
                           std::move(error.hint)};
      return News{given_up, given_up};
    }
  }
}

}  // namespace muster::worker
