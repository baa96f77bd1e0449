// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/kept_words.hpp"

#include "tests/support/socket_ends.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <sys/socket.h>

using namespace muster;
using namespace muster::launch;

namespace {

// A connection, and who listens at its other end.
struct Connection : test::SocketEnds {
  // Up to the end; "(open)" follows where it is not closed yet.
  std::string heard() const {
    char buffer[2 * kLastWordBytes];
    std::string text;
    for (;;) {
      auto const got = ::recv(theirs.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got <= 0) return got == 0 ? text : text + "(open)";
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }
};

ChannelPacket words(std::size_t slot, std::string_view bytes) {
  ChannelPacket packet;
  packet.notice = Notice::last_word;
  packet.slot = static_cast<std::uint16_t>(slot);
  packet.size = static_cast<std::uint16_t>(bytes.size());
  std::memcpy(packet.bytes, bytes.data(), bytes.size());
  return packet;
}

}  // namespace

TEST_CASE("what was kept is said on its connection, which is then closed", "[process]") {
  KeptWords kept;
  Connection first, last;
  std::string const longest(kLastWordBytes, 'x');
  kept.take(words(0, "gone"), std::move(first.ours));
  kept.take(words(kLastWordSlots - 1, longest), std::move(last.ours));
  CHECK(first.heard() == "(open)");
  CHECK(kept.speak() == 2);
  CHECK(first.heard() == "gone");
  CHECK(last.heard() == longest);
  CHECK(kept.speak() == 0);
}

TEST_CASE("a slot without a connection, or with another one, is closed in silence", "[process]") {
  KeptWords kept;
  Connection dropped, replaced, successor;
  kept.take(words(0, "a"), std::move(dropped.ours));
  kept.take(words(1, "b"), std::move(replaced.ours));
  kept.take(words(0, ""), UniqueFd());
  kept.take(words(1, "c"), std::move(successor.ours));
  CHECK(dropped.heard() == "");
  CHECK(replaced.heard() == "");
  CHECK(kept.speak() == 1);
  CHECK(successor.heard() == "c");
}

TEST_CASE("an agent that finished has no last word", "[process]") {
  KeptWords kept;
  Connection one;
  kept.take(words(0, "a"), std::move(one.ours));
  kept.forget();
  CHECK(one.heard() == "");
  CHECK(kept.speak() == 0);
}

TEST_CASE("a listener that is gone, one that reads nothing, and a wrong slot hold nobody up",
          "[process]") {
  KeptWords kept;
  Connection gone, full, fine;
  std::string const much(64 * 1024, 'x');
  while (::send(full.ours.get(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
  }
  gone.theirs.reset();
  kept.take(words(0, "a"), std::move(gone.ours));
  kept.take(words(1, "b"), std::move(full.ours));
  kept.take(words(kLastWordSlots, "c"), UniqueFd());
  kept.take(words(2, "d"), std::move(fine.ours));
  CHECK(kept.speak() == 1);
  CHECK(fine.heard() == "d");
}
