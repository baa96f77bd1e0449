// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/mesh_split.hpp"

#include "worker_runtime/comm/mesh_join.hpp"

#include <algorithm>
#include <array>
#include <sys/random.h>

namespace muster::worker {
namespace {

// What each rank tells all others: where it listens for the sub-group, and a number that becomes
// the sub-group's nonce if the rank is its first.
struct Offer {
  std::int64_t port = 0;
  std::int64_t number = 0;
};

Result<std::vector<Offer>> exchange_offers(ProcessGroup& parent, Offer mine) {
  auto const size = parent.shape().size;
  std::int64_t const values[] = {mine.port, mine.number};
  auto const in = Tensor::of<std::int64_t>(Shape{2}, std::span<std::int64_t const>(values));
  auto const out = Tensor::zeros(Shape{2 * size}, DType::i64);
  CallOptions options;
  options.site = "split";
  MUSTER_CHECK(all_gather(parent, in, out, options).wait());
  std::vector<Offer> offers;
  auto const gathered = out.as<std::int64_t>();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank)
    offers.push_back(Offer{gathered[2 * rank], gathered[2 * rank + 1]});
  return offers;
}

Result<Offer> make_offer(Listener& listener, std::string const& own_address) {
  MUSTER_TRY(listener, listen_on(own_address));
  Offer offer;
  offer.port = listener.port;
  MUSTER_ASSERT(::getrandom(&offer.number, sizeof offer.number, 0) == sizeof offer.number,
                "the system gives random bytes");
  return offer;
}

}  // namespace

Result<std::optional<Mesh>> split_mesh(ProcessGroup& parent, std::vector<Seat> const& seats,
                                       std::vector<SplitChoice> const& choices, int color,
                                       Deadline deadline) {
  auto const own_rank = parent.shape().rank;
  Listener listener;
  MUSTER_TRY(auto const offer,
             make_offer(listener, seats[static_cast<std::size_t>(own_rank)].address));
  MUSTER_TRY(auto const offers, exchange_offers(parent, offer));
  if (color < 0) return std::optional<Mesh>();
  auto const members = members_of(choices, color);
  Mesh mesh;
  for (auto const member : members) {
    if (member == own_rank) mesh.rank = mesh.size();
    PeerLink link;
    link.seat = seats[static_cast<std::size_t>(member)];
    link.seat.port = static_cast<std::uint16_t>(offers[static_cast<std::size_t>(member)].port);
    mesh.peers.push_back(std::move(link));
  }
  JoinRequest request;
  request.nonce =
      static_cast<std::uint64_t>(offers[static_cast<std::size_t>(members.front())].number);
  request.incarnation = static_cast<std::uint64_t>(offer.number);
  request.deadline = deadline;
  if (auto joined = join_mesh(mesh, listener, request); !joined) {
    announce(mesh, Abort{mesh.told.value_or(joined.error())});
    return std::move(joined).error();
  }
  return std::optional<Mesh>(std::move(mesh));
}

}  // namespace muster::worker
