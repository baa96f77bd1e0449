// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/guardian_line.hpp"

#include <algorithm>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

// The packet's milliseconds, and those of the guardian's poll(), hold no more than 24 days.
constexpr Duration kLongestWait = std::chrono::hours{24 * 20};

std::uint32_t milliseconds(Duration length) {
  auto const bounded = std::min(length, kLongestWait);
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(bounded).count());
}

}  // namespace

GuardianLine::GuardianLine(asio::io_context& io, int channel)
    : channel_(io, channel), last_word_(io, channel) {}

void GuardianLine::listen(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  listen();
}

void GuardianLine::listen() {
  channel_.async_wait(asio::posix::descriptor_base::wait_read, [this](net::error_code failure) {
    if (failure) return;
    read_now();
    if (!gone_) listen();
  });
}

void GuardianLine::begin() {
  ::prctl(PR_SET_PDEATHSIG, 0);
  ChannelPacket packet;
  packet.notice = Notice::begun;
  tell(packet);
}

void GuardianLine::read_now() {
  while (!gone_) {
    ChannelPacket packet;
    auto const got = ::recv(channel_.native_handle(), &packet, sizeof packet, MSG_DONTWAIT);
    gone_ = got == 0;
    if (gone_) return callbacks_.on_gone();
    if (got != static_cast<ssize_t>(sizeof packet)) return;
    if (packet.notice == Notice::signal) callbacks_.on_signal(packet.signal, packet.sender_pid);
    if (packet.notice == Notice::fenced) callbacks_.on_fenced();
  }
}

bool GuardianLine::tell(ChannelPacket const& packet) {
  return ::send(channel_.native_handle(), &packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void GuardianLine::alive(Duration patience, Duration mercy) {
  ChannelPacket packet;
  packet.notice = Notice::alive;
  packet.patience_ms = milliseconds(patience);
  packet.mercy_ms = milliseconds(mercy);
  tell(packet);  // a stopped guardian's channel may be full: it has enough to read
}

void GuardianLine::leaf(std::string const& path) {
  ChannelPacket packet;
  packet.notice = Notice::leaf;
  if (path.size() >= sizeof packet.bytes) return;
  path.copy(packet.bytes, sizeof packet.bytes - 1);
  tell(packet);
}

bool GuardianLine::suspend() {
  ChannelPacket packet;
  packet.notice = Notice::suspend;
  return tell(packet);
}

void GuardianLine::finished() {
  ChannelPacket packet;
  packet.notice = Notice::finished;
  tell(packet);
}

}  // namespace muster::launch
