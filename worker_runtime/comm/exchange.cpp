// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/exchange.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/socket.h>
#include <sys/uio.h>

namespace muster::worker {
namespace {

// A piece is received, reduced and sent on while it is in the L2 cache; many peers share it.
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kSlotsBytes = 8 << 20;
constexpr std::size_t kLeastPieceBytes = 32 << 10;
static_assert(kPieceBytes <= kMaxSegmentBytes);

// Pieces that may be under way beyond what has come in: keeps sockets' queues short.
constexpr std::int64_t kWindow = 2;

std::size_t piece_bytes_for(Plan const& plan) {
  std::size_t slots = 1;
  for (auto const& round : plan.rounds)
    if (round.kind == RoundKind::combine) slots = std::max(slots, round.receives.size());
  return std::clamp(kSlotsBytes / slots, kLeastPieceBytes, kPieceBytes);
}

bool overlap(Range a, Range b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

Result<void> Exchange::run(Job const& job) {
  job_ = &job;
  element_ = job.signature.kind == OpKind::barrier ? 1 : bytes_of(job.signature.dtype);
  piece_elements_ = static_cast<std::int64_t>(piece_bytes_for(job.plan) / element_);
  auto const& collective = *job.collective;
  if (collective.kind == OpKind::all_reduce || collective.kind == OpKind::broadcast) {
    if (collective.in.bytes() > 0 && collective.in.data() != collective.out.data())
      std::memcpy(collective.out.data(), collective.in.data(), collective.in.bytes());
  } else if (collective.kind == OpKind::all_gather && collective.in.bytes() > 0) {
    auto* own = target_at(slice_of(job.request, mesh_.rank).begin);
    if (own != collective.in.data()) std::memcpy(own, collective.in.data(), collective.in.bytes());
  }
  round_index_ = 0;
  for (auto const& round : job.plan.rounds) {
    MUSTER_CHECK(run_round(round));
    ++round_index_;
  }
  return ok();
}

Result<void> Exchange::run_round(Round const& round) {
  begin_round(round);
  while (!round_done()) {
    MUSTER_TRY(auto const moved, pump());
    if (!moved) MUSTER_CHECK(await_events());
  }
  return ok();
}

void Exchange::begin_round(Round const& round) {
  round_ = &round;
  sends_.clear();
  receives_.clear();
  combined_ = 0;
  to_combine_ = round.kind == RoundKind::combine ? pieces_in(round.range) : 0;
  sends_what_it_combines_ = false;
  for (auto const& transfer : round.sends) {
    Sending sending;
    sending.peer = transfer.peer;
    sending.range = transfer.range;
    sending.pieces = pieces_in(transfer.range);
    sends_.push_back(sending);
    if (to_combine_ > 0 && job_->signature.kind != OpKind::reduce_scatter &&
        overlap(transfer.range, round.range))
      sends_what_it_combines_ = true;
  }
  auto const slot_bytes = static_cast<std::size_t>(piece_elements_) * element_;
  if (to_combine_ > 0 && slots_.size() < round.receives.size() * slot_bytes)
    slots_.resize(round.receives.size() * slot_bytes);
  for (auto const& transfer : round.receives) {
    Receiving receiving;
    receiving.peer = transfer.peer;
    receiving.range = transfer.range;
    receiving.pieces = pieces_in(transfer.range);
    if (to_combine_ > 0) receiving.slot = slots_.data() + receives_.size() * slot_bytes;
    receives_.push_back(receiving);
  }
}

bool Exchange::round_done() const {
  return combined_ == to_combine_ &&
         std::all_of(sends_.begin(), sends_.end(), [](auto const& s) { return s.done(); }) &&
         std::all_of(receives_.begin(), receives_.end(), [](auto const& r) { return r.done(); });
}

Result<bool> Exchange::pump() {
  bool moved = false;
  for (auto& sending : sends_) {
    MUSTER_TRY(auto const sent, pump_send(sending));
    moved |= sent;
  }
  for (auto& receiving : receives_) {
    MUSTER_TRY(auto const received, pump_receive(receiving));
    moved |= received;
  }
  return pump_combine() || moved;
}

std::int64_t Exchange::received_pieces() const {
  auto least = std::numeric_limits<std::int64_t>::max() - kWindow;
  for (auto const& receiving : receives_)
    if (!receiving.done()) least = std::min(least, receiving.piece);
  return least;
}

bool Exchange::may_send(Sending const& sending) const {
  if (sending.done()) return false;
  if (round_->kind == RoundKind::relay) return sending.piece < received_pieces();
  return sending.piece < received_pieces() + kWindow;
}

Result<bool> Exchange::pump_send(Sending& sending) {
  bool moved = false;
  sending.blocked = false;
  while (may_send(sending)) {
    auto const piece = piece_of(sending.range, sending.piece);
    auto const payload = static_cast<std::size_t>(piece.count()) * element_;
    if (sending.sent == 0) sending.header = encode(frame_of(sending.range, sending.piece));
    auto const in_header = std::min(sending.sent, kFrameHeaderBytes);
    auto const in_payload = sending.sent - in_header;
    // sendmsg only reads what it is given.
    auto* from = const_cast<std::byte*>(source_at(piece.begin));
    iovec parts[] = {{sending.header.data() + in_header, kFrameHeaderBytes - in_header},
                     {from == nullptr ? from : from + in_payload, payload - in_payload}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    auto const sent =
        ::sendmsg(mesh_.peer(sending.peer).data.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      sending.blocked = true;
      return moved;
    }
    if (sent < 0) return lost(sending.peer, "connection reset");
    moved = true;
    sending.sent += static_cast<std::size_t>(sent);
    if (sending.sent < kFrameHeaderBytes + payload) continue;
    sending.sent = 0;
    ++sending.piece;
  }
  return moved;
}

bool Exchange::may_receive(Receiving const& receiving) const {
  return !receiving.done() && (receiving.slot == nullptr || receiving.piece <= combined_);
}

Result<bool> Exchange::pump_receive(Receiving& receiving) {
  bool moved = false;
  while (may_receive(receiving)) {
    auto const piece = piece_of(receiving.range, receiving.piece);
    auto const payload = static_cast<std::size_t>(piece.count()) * element_;
    auto const in_header = std::min(receiving.got, kFrameHeaderBytes);
    auto const in_payload = receiving.got - in_header;
    auto* to = receiving.slot != nullptr ? receiving.slot : target_at(piece.begin);
    iovec parts[] = {{receiving.header.data() + in_header, kFrameHeaderBytes - in_header},
                     {to == nullptr ? to : to + in_payload, payload - in_payload}};
    auto const got = ::readv(mesh_.peer(receiving.peer).data.get(), parts, 2);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return moved;
    if (got <= 0) return lost(receiving.peer, got == 0 ? "connection closed" : "connection reset");
    moved = true;
    receiving.got += static_cast<std::size_t>(got);
    if (receiving.got >= kFrameHeaderBytes && in_header < kFrameHeaderBytes)
      MUSTER_CHECK(check_header(receiving));
    if (receiving.got < kFrameHeaderBytes + payload) continue;
    receiving.got = 0;
    ++receiving.piece;
  }
  return moved;
}

bool Exchange::pump_combine() {
  if (combined_ == to_combine_) return false;
  for (auto const& receiving : receives_)
    if (receiving.piece <= combined_) return false;
  if (sends_what_it_combines_)
    for (auto const& sending : sends_)
      if (sending.piece <= combined_) return false;
  combine_piece();
  ++combined_;
  return true;
}

void Exchange::combine_piece() {
  auto const piece = piece_of(round_->range, combined_);
  auto const count = static_cast<std::size_t>(piece.count());
  if (count == 0) return;
  parties_.clear();
  for (auto const& receiving : receives_) parties_.push_back(receiving.slot);
  parties_.insert(parties_.begin() + round_->own, source_at(piece.begin));
  auto* out = target_at(piece.begin);
  reducer_.reduce(job_->signature.op, job_->signature.dtype, out, parties_, count);
  if (round_->last && job_->signature.factor != 1.0)
    scale(job_->signature.dtype, out, job_->signature.factor, count);
}

Range Exchange::piece_of(Range range, std::int64_t piece) const {
  auto const begin = std::min(range.end, range.begin + piece * piece_elements_);
  return Range{begin, std::min(range.end, begin + piece_elements_)};
}

std::int64_t Exchange::pieces_in(Range range) const {
  return std::max<std::int64_t>(1, (range.count() + piece_elements_ - 1) / piece_elements_);
}

// Elements are counted in the whole vector; reduce_scatter's result holds this rank's slice only.
std::byte const* Exchange::source_at(std::int64_t element) const {
  auto const& collective = *job_->collective;
  auto const& from = collective.kind == OpKind::reduce_scatter ? collective.in : collective.out;
  return from.data() == nullptr ? nullptr
                                : from.data() + static_cast<std::size_t>(element) * element_;
}

std::byte* Exchange::target_at(std::int64_t element) const {
  auto const& out = job_->collective->out;
  auto const first = job_->signature.kind == OpKind::reduce_scatter ? round_->range.begin : 0;
  return out.data() == nullptr ? nullptr
                               : out.data() + static_cast<std::size_t>(element - first) * element_;
}

FrameHeader Exchange::frame_of(Range range, std::int64_t piece) const {
  auto const here = piece_of(range, piece);
  FrameHeader header;
  header.sequence = job_->sequence;
  header.signature = job_->signature;
  header.algorithm = job_->request.algorithm;
  header.round = round_index_;
  header.offset = static_cast<std::uint64_t>(here.begin - range.begin);
  header.length = static_cast<std::uint32_t>(static_cast<std::size_t>(here.count()) * element_);
  return header;
}

Result<void> Exchange::check_header(Receiving const& receiving) const {
  auto const who = name_of_peer(mesh_, receiving.peer);
  auto const seen = decode_frame(receiving.header);
  if (!seen) return Error{Errc::protocol, who + ": " + seen.error().what, {}};
  auto const expected = frame_of(receiving.range, receiving.piece);
  if (*seen == expected) return ok();
  auto const same_place = seen->sequence == expected.sequence;
  if (same_place && seen->signature == expected.signature)
    return Error{Errc::mismatch, who + " carries out " + operation() + " by another plan",
                 "run one build of muster on all ranks"};
  return Error{Errc::mismatch,
               who + " is in " + describe(seen->signature) + ", operation " +
                   std::to_string(seen->sequence) + "; rank " + std::to_string(mesh_.rank) +
                   " is in " + operation(),
               "every rank submits the same operations in the same order"};
}

}  // namespace muster::worker
