// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/mesh_join.hpp"

#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace muster::worker {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHelloPatience = 10s;

enum class ReadState { whole, more, ended };

// Reads what is there of one message, never a byte behind it.
Result<ReadState> read_some(int fd, std::string& bytes) {
  std::array<char, 4'096> buffer;
  while (true) {
    MUSTER_TRY(auto const missing, missing_bytes(bytes));
    if (missing == 0) return ReadState::whole;
    auto const got = ::recv(fd, buffer.data(), std::min(missing, buffer.size()), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ReadState::more;
    if (got <= 0) return ReadState::ended;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Hello hello_of(Mesh const& mesh, JoinRequest const& request, Channel channel) {
  Hello hello;
  hello.nonce = request.nonce;
  hello.incarnation = request.incarnation;
  hello.rank = mesh.rank;
  hello.size = mesh.size();
  hello.channel = channel;
  hello.seat = mesh.peer(mesh.rank).seat;
  return hello;
}

Result<UniqueFd> call(Mesh const& mesh, int peer, JoinRequest const& request, Channel channel) {
  auto const& seat = mesh.peer(peer).seat;
  auto connected = connect_to(seat.address, seat.port, request.deadline);
  if (!connected)
    return Error{Errc::peer_lost,
                 name_of_peer(mesh, peer) + " cannot be reached: " + connected.error().what,
                 {}};
  auto const bytes = encode(ControlMessage(hello_of(mesh, request, channel)));
  MUSTER_CHECK(write_all((*connected).get(), bytes, request.deadline));
  return std::move(*connected);
}

// A quick peer may already have left again, in good order.
bool is_linked(PeerLink const& link) {
  return (link.control || link.bye) && link.data;
}

bool is_whole(Mesh const& mesh) {
  for (int peer = 0; peer < mesh.size(); ++peer)
    if (peer != mesh.rank && !is_linked(mesh.peer(peer))) return false;
  return true;
}

std::string missing_callers(Mesh const& mesh) {
  std::string text;
  for (int peer = 0; peer < mesh.size(); ++peer)
    if (peer != mesh.rank && !is_linked(mesh.peer(peer)))
      text += (text.empty() ? "" : ", ") + name_of_peer(mesh, peer);
  return text;
}

Result<void> check_alive(Mesh& mesh) {
  MUSTER_CHECK(read_controls(mesh));
  for (int peer = 0; peer < mesh.size(); ++peer)
    if (mesh.peer(peer).gone_at && !mesh.peer(peer).bye)
      return Error{
          Errc::peer_lost, name_of_peer(mesh, peer) + " ended while the group was forming", {}};
  return ok();
}

Result<void> take_calls(Mesh& mesh, Listener& listener, JoinRequest const& request) {
  Callers callers(listener, request.nonce);
  while (!is_whole(mesh)) {
    MUSTER_TRY(auto arrived, callers.next(mesh, request.deadline));
    for (auto& caller : arrived) {
      if (caller.hello.rank >= mesh.size()) continue;
      auto& link = mesh.peer(caller.hello.rank);
      (caller.hello.channel == Channel::control ? link.control : link.data) = std::move(caller.fd);
    }
    MUSTER_CHECK(check_alive(mesh));
    if (request.deadline.passed(now()) && !is_whole(mesh))
      return Error{Errc::timeout,
                   "the group did not connect in time; no call from " + missing_callers(mesh),
                   {}};
  }
  return ok();
}

}  // namespace

Result<std::vector<Caller>> Callers::next(Mesh const& mesh, Deadline deadline) {
  std::vector<Caller> complete;
  auto const known = std::count_if(mesh.peers.begin(), mesh.peers.end(),
                                   [](PeerLink const& link) { return bool(link.control); });
  while (complete.empty() && !deadline.passed(now())) {
    std::vector<pollfd> entries;
    watch_controls(mesh, entries);
    entries.push_back(pollfd{listener_.fd.get(), POLLIN, 0});
    for (auto const& pending : pending_) entries.push_back(pollfd{pending.fd.get(), POLLIN, 0});
    auto wake = deadline;
    for (auto const& pending : pending_) wake.at = std::min(wake.at, pending.patience.at);
    static_cast<void>(::poll(entries.data(), entries.size(), poll_ms(wake)));
    for (std::ptrdiff_t i = 0; i < known; ++i)
      if (entries[static_cast<std::size_t>(i)].revents != 0) return complete;
    MUSTER_CHECK(take_connections());
    read_hellos(complete);
  }
  return complete;
}

Result<void> Callers::take_connections() {
  while (true) {
    MUSTER_TRY(auto fd, accept_from(listener_));
    if (!fd) return ok();
    pending_.push_back(Pending{std::move(fd), {}, deadline_in(kHelloPatience)});
  }
}

void Callers::read_hellos(std::vector<Caller>& complete) {
  std::vector<Pending> still;
  for (auto& pending : pending_) {
    auto const state = read_some(pending.fd.get(), pending.bytes);
    if (!state || *state == ReadState::ended) continue;
    if (*state == ReadState::more) {
      if (!pending.patience.passed(now())) still.push_back(std::move(pending));
      continue;
    }
    auto message = decode_control(pending.bytes);
    if (!message) continue;
    auto* hello = std::get_if<Hello>(&*message);
    if (hello != nullptr && hello->nonce == nonce_)
      complete.push_back(Caller{std::move(*hello), std::move(pending.fd)});
  }
  pending_ = std::move(still);
}

Result<ControlMessage> read_message(int fd, Deadline deadline) {
  std::string bytes;
  while (true) {
    MUSTER_TRY(auto const state, read_some(fd, bytes));
    if (state == ReadState::whole) return decode_control(bytes);
    if (state == ReadState::ended) return Error{Errc::closed, "the peer ended the connection", {}};
    if (deadline.passed(now())) return Error{Errc::timeout, "the peer sent no message in time", {}};
    pollfd entry{fd, POLLIN, 0};
    static_cast<void>(::poll(&entry, 1, poll_ms(deadline)));
  }
}

Result<void> join_mesh(Mesh& mesh, Listener& listener, JoinRequest const& request) {
  // Connections wait in the listener's queue, so everybody can call first and answer later.
  for (int peer = 0; peer < mesh.rank; ++peer) {
    auto& link = mesh.peer(peer);
    if (!link.control) {
      MUSTER_TRY(link.control, call(mesh, peer, request, Channel::control));
    }
    MUSTER_TRY(link.data, call(mesh, peer, request, Channel::data));
  }
  return take_calls(mesh, listener, request);
}

}  // namespace muster::worker
