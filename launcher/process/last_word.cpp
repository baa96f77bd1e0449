// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/last_word.hpp"

#include "launcher/process/kept_words.hpp"
#include "rendezvous/base/assert.hpp"
#include "rendezvous/base/clock.hpp"

#include <array>
#include <cstring>
#include <sys/socket.h>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

constexpr Duration kTellAgain = std::chrono::seconds{1};

// One packet to the guardian, with a descriptor or without. False: the guardian does not read.
bool send_packet(int channel, ChannelPacket const& packet, int descriptor) {
  iovec part{const_cast<ChannelPacket*>(&packet), sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    auto* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace

class LastWord::Body {
 public:
  Body(asio::io_context& io, int channel) : io_(io), timer_(io), channel_(channel) {}

  using Ptr = std::shared_ptr<Body>;
  static void keep(Ptr const& self, std::size_t index, UniqueFd connection, std::string bytes);
  static void drop(Ptr const& self, std::size_t index);
  static void clear(Ptr const& self);
  void close();

  std::function<void(std::size_t)> hung_up;

 private:
  struct Slot {
    explicit Slot(asio::io_context& io) : connection(io) {}
    asio::posix::stream_descriptor connection;  // ours; the guardian has its own
    std::string bytes;
    unsigned turn = 0;  // which connection a handler belongs to
    bool told = true;   // the guardian knows
    std::array<char, 256> read_away{};
  };

  static void watch(Ptr const& self, std::size_t index);
  static void tell(Ptr const& self, std::size_t index);
  static void tell_later(Ptr const& self);

  asio::io_context& io_;
  asio::steady_timer timer_;
  int channel_;
  bool timer_runs_ = false, closed_ = false;
  std::array<std::unique_ptr<Slot>, kLastWordSlots> slots_;
};

void LastWord::Body::keep(Ptr const& self, std::size_t index, UniqueFd connection,
                          std::string bytes) {
  MUSTER_ASSERT(!bytes.empty() && bytes.size() <= kLastWordBytes, "a last word fits one packet");
  auto& slot = self->slots_.at(index);
  if (!slot) slot = std::make_unique<Slot>(self->io_);
  net::error_code ignored;
  ++slot->turn;
  slot->connection.close(ignored);
  net::error_code failure;
  slot->connection.assign(connection.get(), failure);
  if (!failure)
    static_cast<void>(connection.release());  // else told as dropped, and watched in vain
  slot->bytes = std::move(bytes);
  tell(self, index);
  watch(self, index);
}

void LastWord::Body::drop(Ptr const& self, std::size_t index) {
  auto const& slot = self->slots_.at(index);
  if (!slot || !slot->connection.is_open()) return;
  net::error_code ignored;
  ++slot->turn;
  slot->connection.close(ignored);
  slot->bytes.clear();
  tell(self, index);
}

void LastWord::Body::clear(Ptr const& self) {
  for (std::size_t i = 0; i < kLastWordSlots; ++i) drop(self, i);
}

void LastWord::Body::close() {
  closed_ = true;
  timer_.cancel();
  net::error_code ignored;
  for (auto& slot : slots_)
    if (slot) slot->connection.close(ignored);
}

void LastWord::Body::watch(Ptr const& self, std::size_t index) {
  auto& slot = *self->slots_[index];
  slot.connection.async_read_some(asio::buffer(slot.read_away),
                                  [self, index, turn = slot.turn](auto const& ec, std::size_t) {
                                    if (self->closed_ || self->slots_[index]->turn != turn) return;
                                    if (!ec) return watch(self, index);
                                    drop(self, index);
                                    if (self->hung_up) self->hung_up(index);
                                  });
}

// The whole slot: without a connection, that there is none.
void LastWord::Body::tell(Ptr const& self, std::size_t index) {
  auto& slot = *self->slots_[index];
  ChannelPacket packet;
  packet.notice = Notice::last_word;
  packet.slot = static_cast<std::uint16_t>(index);
  packet.size = static_cast<std::uint16_t>(slot.bytes.size());
  slot.bytes.copy(packet.bytes, sizeof packet.bytes);
  auto const descriptor = slot.connection.is_open() ? slot.connection.native_handle() : -1;
  slot.told = send_packet(self->channel_, packet, descriptor);
  if (!slot.told) tell_later(self);
}

void LastWord::Body::tell_later(Ptr const& self) {
  if (std::exchange(self->timer_runs_, true)) return;
  self->timer_.expires_after(kTellAgain);
  self->timer_.async_wait([self](net::error_code const& ec) {
    self->timer_runs_ = false;
    if (ec || self->closed_) return;
    for (std::size_t i = 0; i < kLastWordSlots; ++i)
      if (self->slots_[i] && !self->slots_[i]->told) tell(self, i);
  });
}

LastWord::LastWord(asio::io_context& io, int channel)
    : body_(std::make_shared<Body>(io, channel)) {}

LastWord::~LastWord() {
  body_->close();
}

void LastWord::on_hung_up(std::function<void(std::size_t)> call) {
  body_->hung_up = std::move(call);
}

void LastWord::keep(std::size_t slot, UniqueFd connection, std::string bytes) {
  Body::keep(body_, slot, std::move(connection), std::move(bytes));
}

void LastWord::drop(std::size_t slot) {
  Body::drop(body_, slot);
}

void LastWord::clear() {
  Body::clear(body_);
}

}  // namespace muster::launch
