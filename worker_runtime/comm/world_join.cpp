// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/world_join.hpp"

#include "rendezvous/base/assert.hpp"
#include "rendezvous/base/bytes.hpp"
#include "rendezvous/base/now.hpp"
#include "worker_runtime/comm/mesh_join.hpp"

#include <algorithm>
#include <sys/random.h>
#include <thread>

namespace muster::worker {
namespace {

using namespace std::chrono_literals;

// A dead host's address swallows the call; the key may have been renewed meanwhile.
constexpr Duration kCallPatience = 3s;
constexpr Duration kWelcomePatience = 5s;
constexpr Duration kFirstPause = 5ms, kLongestPause = 200ms;

std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  MUSTER_ASSERT(::getrandom(&number, sizeof number, 0) == sizeof number,
                "the system gives random bytes");
  return number;
}

// What the key holds.
struct Invitation {
  std::uint64_t nonce = 0;
  Seat seat;
};

std::string encode_invitation(Invitation const& invitation) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.number(invitation.nonce);
  writer.number(invitation.seat.port);
  writer.sized(invitation.seat.host);
  writer.sized(invitation.seat.address);
  return bytes;
}

std::optional<std::string> read_text(ByteReader& reader) {
  auto const length = reader.number<std::uint64_t>();
  auto const view = length ? reader.take(*length) : std::nullopt;
  if (!view) return std::nullopt;
  return std::string(*view);
}

Result<Invitation> decode_invitation(std::string_view bytes) {
  ByteReader reader(bytes);
  auto const nonce = reader.number<std::uint64_t>();
  auto const port = reader.number<std::uint16_t>();
  auto const host = read_text(reader);
  auto const address = read_text(reader);
  if (!nonce || !port || !host || !address)
    return Error{Errc::protocol,
                 std::string("store key ") + kWorldKey + " holds something that is not muster's",
                 "another program uses this store and this name"};
  return Invitation{*nonce, Seat{*host, *address, *port}};
}

struct Joiner {
  WorldRequest const& request;
  JoinRequest join;
  Listener listener;
  Mesh mesh;

  Seat& own_seat() { return mesh.peer(mesh.rank).seat; }
};

// A name like "node-1" may mean 127.0.1.1 on node-1 itself, an address that is of no use to the
// others: then listen on all.
Result<Joiner> prepare(net::BlockingClient const& store, WorldRequest const& request) {
  auto const local = store.local_address();
  auto const anywhere = is_loopback(local) && !is_loopback(request.store_host);
  MUSTER_TRY(auto listener, listen_on(anywhere ? std::string() : local));
  Joiner joiner{request, {}, std::move(listener), {}};
  joiner.join.incarnation = fresh_number();
  joiner.join.deadline = request.deadline;
  joiner.mesh.rank = request.rank;
  joiner.mesh.peers.resize(static_cast<std::size_t>(request.size));
  joiner.own_seat() = Seat{own_host_name(), local, joiner.listener.port};
  return joiner;
}

std::string missing_ranks(Mesh const& mesh) {
  std::string text;
  for (int peer = 0; peer < mesh.size(); ++peer)
    if (peer != mesh.rank && !mesh.peer(peer).control)
      text += (text.empty() ? "" : ", ") + std::to_string(peer);
  return text;
}

int present_ranks(Mesh const& mesh) {
  int count = 1;
  for (auto const& link : mesh.peers) count += link.control ? 1 : 0;
  return count;
}

// The caller hears why, too: it holds no seat yet.
Error turn_away(Caller const& caller, Error error) {
  static_cast<void>(
      write_all(caller.fd.get(), encode(ControlMessage(Abort{error})), deadline_in(1s)));
  return error;
}

// A rank that calls again has given up its earlier call; two processes of one rank are a mistake.
Result<void> seat_caller(Joiner& joiner, Caller caller, std::vector<std::uint64_t>& incarnations) {
  auto const& hello = caller.hello;
  if (hello.size != joiner.mesh.size())
    return turn_away(caller, Error{Errc::mismatch,
                                   "rank " + std::to_string(hello.rank) + " (" + hello.seat.host +
                                       ") expects a world of " + std::to_string(hello.size) +
                                       ", rank 0 one of " + std::to_string(joiner.mesh.size()),
                                   "give all ranks the same WORLD_SIZE"});
  if (hello.rank == 0 || hello.channel != Channel::control) return ok();
  auto& link = joiner.mesh.peer(hello.rank);
  auto& incarnation = incarnations[static_cast<std::size_t>(hello.rank)];
  if (link.control && incarnation != hello.incarnation)
    return turn_away(caller,
                     Error{Errc::mismatch,
                           "two processes say that they are rank " + std::to_string(hello.rank) +
                               ": on " + link.seat.host + " and on " + hello.seat.host,
                           "give each process its own RANK"});
  incarnation = hello.incarnation;
  link.seat = hello.seat;
  link.control = std::move(caller.fd);
  auto const welcome = encode(ControlMessage(Welcome{}));
  // A caller that is gone again is noticed by its connection's end.
  static_cast<void>(write_all(link.control.get(), welcome, deadline_in(1s)));
  return ok();
}

// A rank that died while waiting may be started again by its launcher.
Result<void> drop_gone(Mesh& mesh) {
  MUSTER_CHECK(read_controls(mesh));
  for (auto& link : mesh.peers)
    if (link.gone_at) link = PeerLink{};
  return ok();
}

Result<void> gather_callers(Joiner& joiner) {
  auto& mesh = joiner.mesh;
  auto const own = joiner.own_seat();
  Callers callers(joiner.listener, joiner.join.nonce);
  std::vector<std::uint64_t> incarnations(mesh.peers.size());
  while (present_ranks(mesh) < mesh.size()) {
    if (joiner.join.deadline.passed(now()))
      return Error{Errc::timeout,
                   std::to_string(present_ranks(mesh)) + " of " + std::to_string(mesh.size()) +
                       " ranks came in time; missing: " + missing_ranks(mesh),
                   "start the missing ranks, or look for their errors"};
    MUSTER_TRY(auto arrived, callers.next(mesh, joiner.join.deadline));
    MUSTER_CHECK(drop_gone(mesh));
    for (auto& caller : arrived) MUSTER_CHECK(seat_caller(joiner, std::move(caller), incarnations));
  }
  joiner.own_seat() = own;
  return ok();
}

Result<void> send_table(Joiner& joiner) {
  Table table;
  for (auto const& link : joiner.mesh.peers) table.seats.push_back(link.seat);
  auto const bytes = encode(ControlMessage(std::move(table)));
  for (auto& link : joiner.mesh.peers)
    if (link.control) MUSTER_CHECK(write_all(link.control.get(), bytes, joiner.join.deadline));
  return ok();
}

Result<void> invite(Joiner& joiner, net::BlockingClient& store) {
  joiner.join.nonce = fresh_number();
  auto const value = encode_invitation(Invitation{joiner.join.nonce, joiner.own_seat()});
  MUSTER_CHECK(store.set(kWorldKey, value, joiner.join.deadline));
  MUSTER_CHECK(gather_callers(joiner));
  return send_table(joiner);
}

// One try to be welcomed by the rank 0 that the key names; an empty descriptor where it is of the
// past.
Result<UniqueFd> call_rank_0(Joiner const& joiner, Invitation const& invitation,
                             std::string const& address) {
  auto const patience = [&](Duration bound) {
    auto deadline = deadline_in(bound);
    deadline.at = std::min(deadline.at, joiner.join.deadline.at);
    return deadline;
  };
  auto fd = connect_to(address, invitation.seat.port, patience(kCallPatience));
  if (!fd) return UniqueFd();
  Hello hello;
  hello.nonce = invitation.nonce;
  hello.incarnation = joiner.join.incarnation;
  hello.rank = joiner.mesh.rank;
  hello.size = joiner.mesh.size();
  hello.seat = joiner.mesh.peer(joiner.mesh.rank).seat;
  if (!write_all((*fd).get(), encode(ControlMessage(hello)), patience(kCallPatience)))
    return UniqueFd();
  auto answer = read_message((*fd).get(), patience(kWelcomePatience));
  if (!answer) return UniqueFd();
  if (auto* abort = std::get_if<Abort>(&*answer)) return std::move(abort->error);
  return std::holds_alternative<Welcome>(*answer) ? std::move(*fd) : UniqueFd();
}

// Rank 0's address as this rank can reach it.
std::string reach_rank_0(Joiner& joiner, Invitation const& invitation) {
  auto const own_is_loopback = is_loopback(joiner.own_seat().address);
  return is_loopback(invitation.seat.address) && !own_is_loopback ? joiner.request.store_host
                                                                  : invitation.seat.address;
}

// The table, seen from here: a loopback address is on rank 0's host, or on our own.
void take_table(Joiner& joiner, Table table, std::string const& rank_0_address) {
  auto const own_is_loopback = is_loopback(joiner.own_seat().address);
  for (std::size_t peer = 0; peer < table.seats.size(); ++peer) {
    auto& seat = table.seats[peer];
    if (is_loopback(seat.address) && !own_is_loopback) seat.address = rank_0_address;
    joiner.mesh.peers[peer].seat = std::move(seat);
  }
}

Result<void> await_table(Joiner& joiner, std::string const& rank_0_address) {
  auto message = read_message(joiner.mesh.peer(0).control.get(), joiner.join.deadline);
  if (!message && message.error().code == Errc::timeout)
    return Error{Errc::timeout, "the world was not complete in time, waits rank 0",
                 "rank 0's message names the missing ranks"};
  if (!message)
    return Error{
        Errc::peer_lost, "rank 0 ended while the world was forming: " + message.error().what, {}};
  if (auto* abort = std::get_if<Abort>(&*message))
    return as_told_by(joiner.mesh, 0, std::move(abort->error)).report;
  auto* table = std::get_if<Table>(&*message);
  if (table == nullptr || table->seats.size() != joiner.mesh.peers.size())
    return Error{Errc::protocol, "rank 0 sent something else than the table of ranks", {}};
  take_table(joiner, std::move(*table), rank_0_address);
  return ok();
}

// Whose key is missing, and why it may be, is more than which.
Error rank_0_is_late(Error const& seen) {
  if (seen.code != Errc::timeout) return seen;
  return Error{Errc::timeout, "rank 0 has not begun to form the world in time (" + seen.what + ")",
               "it may still read data or have failed: look at its log; long work belongs behind "
               "the session's start, or the session needs a longer timeout"};
}

Result<void> accept_invitation(Joiner& joiner, net::BlockingClient& store) {
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto const value = store.get(kWorldKey, joiner.join.deadline);
    if (!value) return rank_0_is_late(value.error());
    MUSTER_TRY(auto const invitation, decode_invitation(*value));
    auto const address = reach_rank_0(joiner, invitation);
    MUSTER_TRY(auto fd, call_rank_0(joiner, invitation, address));
    if (fd) {
      joiner.join.nonce = invitation.nonce;
      joiner.mesh.peer(0).seat = invitation.seat;
      joiner.mesh.peer(0).control = std::move(fd);
      return await_table(joiner, address);
    }
    if (joiner.join.deadline.passed(now()))
      return Error{Errc::timeout,
                   "rank 0 (" + invitation.seat.host + ", " + address + " port " +
                       std::to_string(invitation.seat.port) + ") did not answer in time",
                   "is it running, and may its host be reached on any port?"};
    std::this_thread::sleep_for(pause);  // rank 0 may be about to renew the key
  }
}

}  // namespace

Result<Mesh> join_world(net::BlockingClient& store, WorldRequest const& request) {
  MUSTER_TRY(auto joiner, prepare(store, request));
  auto joined = request.rank == 0 ? invite(joiner, store) : accept_invitation(joiner, store);
  if (joined) joined = join_mesh(joiner.mesh, joiner.listener, joiner.join);
  if (joined) return std::move(joiner.mesh);
  announce(joiner.mesh, Abort{joiner.mesh.told.value_or(joined.error())});
  return std::move(joined).error();
}

}  // namespace muster::worker
