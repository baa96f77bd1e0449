// SPDX-License-Identifier: Apache-2.0
// The part of Exchange that waits: for sockets, news from peers, the owner, the deadline.
#include "rendezvous/base/now.hpp"
#include "worker_runtime/comm/exchange.hpp"
#include "worker_runtime/comm/socket_io.hpp"

#include <algorithm>

namespace muster::worker {
namespace {

using namespace std::chrono_literals;

// A peer that ended without goodbye and is not needed right now may have been a program's
// careless end after its last operation; the operation in progress gets this long to end too.
constexpr Duration kGoneGrace = 100ms;
// The news that says why usually arrives with the end of the connection.
constexpr Duration kNewsPatience = 50ms;
// How often silent hosts are looked for.
constexpr Duration kSilenceCheck = 1s;

}  // namespace

Result<void> Exchange::await_events() {
  entries_.clear();
  entries_.push_back(pollfd{interrupt_.wake_fd, POLLIN, 0});
  watch_controls(mesh_, entries_);
  auto const news = entries_.size();
  for (auto const& sending : sends_)
    if (sending.blocked && may_send(sending))
      entries_.push_back(pollfd{mesh_.peer(sending.peer).data.get(), POLLOUT, 0});
  for (auto const& receiving : receives_)
    if (may_receive(receiving))
      entries_.push_back(pollfd{mesh_.peer(receiving.peer).data.get(), POLLIN, 0});
  auto wake = deadline_in(kSilenceCheck);
  wake.at = std::min(wake.at, job_->deadline.at);
  for (auto const& link : mesh_.peers)
    if (link.gone_at && !link.bye) wake.at = std::min(wake.at, *link.gone_at + kGoneGrace);
  auto const ready = ::poll(entries_.data(), entries_.size(), poll_ms(wake));
  if (ready > 0) {
    for (std::size_t i = 0; i < news; ++i)
      if (entries_[i].revents != 0) return check_peers();
    return ok();
  }
  return check_peers();
}

Result<void> Exchange::check_peers() {
  if (auto error = interrupt_.look()) return *std::move(error);
  MUSTER_CHECK(read_controls(mesh_));
  auto const time = now();
  for (int peer = 0; peer < mesh_.size(); ++peer) {
    auto const& link = mesh_.peer(peer);
    if (link.gone_at && !link.bye && time >= *link.gone_at + kGoneGrace)
      return lost(peer, "its process ended");
    if (needs(peer) && is_silent(link.data.get())) return lost(peer, "its host is silent");
  }
  if (job_->deadline.passed(time)) return late();
  return ok();
}

bool Exchange::needs(int peer) const {
  auto const with = [peer](auto const& transfer) {
    return !transfer.done() && transfer.peer == peer;
  };
  return std::any_of(sends_.begin(), sends_.end(), with) ||
         std::any_of(receives_.begin(), receives_.end(), with);
}

// A connection's end is often the echo of another's: the abort that explains it comes first.
Error Exchange::lost(int peer, std::string const& how) {
  auto const patience = deadline_in(kNewsPatience);
  do {
    if (auto news = read_controls(mesh_); !news) return std::move(news).error();
    if (mesh_.peer(peer).gone_at) break;
    entries_.clear();
    watch_controls(mesh_, entries_);
    static_cast<void>(::poll(entries_.data(), entries_.size(), poll_ms(patience)));
  } while (!patience.passed(now()));
  auto const left = mesh_.peer(peer).bye ? "it left the group" : how;
  return Error{Errc::peer_lost,
               name_of_peer(mesh_, peer) + " is lost to rank " + std::to_string(mesh_.rank) + ": " +
                   left + ", in " + operation(),
               "look for the error of that rank"};
}

Error Exchange::late() const {
  std::string waits;
  for (auto const& receiving : receives_)
    if (!receiving.done())
      waits += (waits.empty() ? "for " : ", ") + name_of_peer(mesh_, receiving.peer);
  if (waits.empty())
    for (auto const& sending : sends_)
      if (!sending.done())
        waits +=
            (waits.empty() ? "until it reads, for " : ", ") + name_of_peer(mesh_, sending.peer);
  return Error{Errc::timeout,
               operation() + " did not end by its deadline on rank " + std::to_string(mesh_.rank) +
                   ", which waits " + waits,
               "did that rank submit the operation?"};
}

std::string Exchange::operation() const {
  return describe(job_->signature, job_->collective->site) + ", operation " +
         std::to_string(job_->sequence);
}

}  // namespace muster::worker
