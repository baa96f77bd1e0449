// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands at the guardian's end of an agent's channel, and a loop that waits for a state.

#include "launcher/process/kept_words.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/asio.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace muster::test {

inline bool run_until(net::asio::io_context& io, std::function<bool()> const& there) {
  auto const deadline = deadline_in(std::chrono::seconds{20});
  bool is_there = false;
  while (!(is_there = there()) && !deadline.passed(now())) {
    io.restart();
    io.run_for(std::chrono::milliseconds{5});
  }
  return is_there;
}

struct GuardianStandIn {
  GuardianStandIn() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    channel.reset(ends[0]);
    agents_end.reset(ends[1]);
  }

  struct Packet {
    std::size_t slot;
    std::string bytes;
    bool with_connection;
    friend bool operator==(Packet const&, Packet const&) = default;
  };

  void take() {
    for (;;) {
      launch::ChannelPacket packet;
      iovec part{&packet, sizeof packet};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      if (::recvmsg(channel.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return;
      UniqueFd connection;
      if (auto const* head = CMSG_FIRSTHDR(&message)) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
        connection.reset(descriptor);
      }
      packets.push_back({packet.slot, {packet.bytes, packet.size}, bool(connection)});
      words.take(packet, std::move(connection));
    }
  }
  bool has(Packet const& wanted) {
    take();
    return std::find(packets.begin(), packets.end(), wanted) != packets.end();
  }

  UniqueFd channel, agents_end;
  std::vector<Packet> packets;
  launch::KeptWords words;  // as a guardian keeps them
};

}  // namespace muster::test
