// SPDX-License-Identifier: Apache-2.0
// The last word with real processes and sockets: what a guardian is handed, and what a listener
// hears when the agent is killed. Every wait ends at a state, with a deadline.

#include "launcher/process/last_word.hpp"

#include "launcher/process/guardian_line.hpp"
#include "tests/support/guardian_pair.hpp"
#include "tests/support/guardian_stand_in.hpp"
#include "tests/support/socket_ends.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <poll.h>
#include <sys/socket.h>

using namespace muster;
using namespace muster::launch;

namespace {

// A connection, and who listens at its other end.
struct Connection : test::SocketEnds {
  // Everything up to the end.
  std::string heard() const {
    std::string text;
    char buffer[256];
    pollfd watched{theirs.get(), POLLIN, 0};
    while (::poll(&watched, 1, 20'000) == 1) {
      auto const got = ::recv(theirs.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text + "(no end)";
  }
};

}  // namespace

TEST_CASE("a connection is handed over with its bytes, and replaced, and dropped", "[last_word]") {
  net::asio::io_context io{1};
  test::GuardianStandIn guardian;
  LastWord word(io, guardian.agents_end.get());
  Connection first, second, other;
  word.keep(0, std::move(first.ours), "one");
  word.keep(3, std::move(other.ours), "other");
  word.keep(0, std::move(second.ours), "two");
  CHECK(guardian.has({0, "one", true}));
  CHECK(guardian.has({3, "other", true}));
  CHECK(guardian.has({0, "two", true}));
  CHECK(first.heard() == "");
  word.drop(3);
  CHECK(guardian.has({3, "", false}));
  CHECK(other.heard() == "");
  guardian.words.speak();
  CHECK(second.heard() == "two");
  word.clear();
  CHECK(guardian.has({0, "", false}));
}

TEST_CASE("what a listener says is read away, and its end is noticed", "[last_word]") {
  net::asio::io_context io{1};
  test::GuardianStandIn guardian;
  LastWord word(io, guardian.agents_end.get());
  std::vector<std::size_t> hung_up;
  word.on_hung_up([&](std::size_t slot) { hung_up.push_back(slot); });
  Connection one;
  word.keep(5, std::move(one.ours), "gone");
  std::string const much(100'000, 'x');
  UniqueFd const theirs = std::move(one.theirs);
  for (std::size_t sent = 0; sent < 10 * much.size();) {
    auto const count = ::send(theirs.get(), much.data(), much.size(), MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    io.poll();
  }
  ::shutdown(theirs.get(), SHUT_RDWR);
  REQUIRE(test::run_until(io, [&] { return !hung_up.empty(); }));
  CHECK(hung_up == std::vector<std::size_t>{5});
  CHECK(guardian.has({5, "", false}));
}

TEST_CASE("a guardian that does not read is told when it does", "[last_word]") {
  net::asio::io_context io{1};
  test::GuardianStandIn guardian;
  ChannelPacket filler;
  while (::send(guardian.agents_end.get(), &filler, sizeof filler, MSG_DONTWAIT) > 0) {
  }
  LastWord word(io, guardian.agents_end.get());
  Connection one;
  word.keep(0, std::move(one.ours), "gone");
  REQUIRE(test::run_until(io, [&] { return guardian.has({0, "gone", true}); }));
}

TEST_CASE("a patience that no packet holds is told as a long one", "[last_word]") {
  net::asio::io_context io{1};
  test::GuardianStandIn guardian;
  GuardianLine line(io, guardian.agents_end.release());
  // Of 49 days and 17 hours 0.7 s would be left in 32 bits.
  for (auto const patience : {std::chrono::seconds{4'294'968}, std::chrono::seconds{10'000'000}}) {
    line.alive(patience, patience);
    ChannelPacket packet;
    REQUIRE(::recv(guardian.channel.get(), &packet, sizeof packet, MSG_DONTWAIT) > 0);
    constexpr std::uint32_t kDayMs = 86'400'000;
    CHECK(packet.patience_ms >= 20 * kDayMs);
    CHECK(packet.mercy_ms == packet.patience_ms);
    CHECK(packet.patience_ms <= static_cast<std::uint32_t>(std::numeric_limits<int>::max()));
  }
}

namespace {

// An agent that sets its last word, starts workers that outlive it, and then ends as `end` does.
pid_t start_pair(Connection& heard, std::function<void(GuardianLine&)> const& end) {
  auto const guardian = test::start_pair([&](AgentSeat seat) {
    net::asio::io_context io{1};
    GuardianLine line(io, seat.channel);
    line.last_word().keep(0, std::move(heard.ours), "gone");
    if (test::start_family()[1] > 0) end(line);
    return 1;
  });
  heard.ours.reset();
  return guardian;
}

}  // namespace

TEST_CASE("the guardian of a killed agent says it, and nobody is left by then", "[last_word]") {
  Connection host;
  std::array<int, 2> held{};  // its write end is open in every process of the pair
  REQUIRE(::pipe(held.data()) == 0);
  auto const guardian = start_pair(host, [&](GuardianLine&) { ::raise(SIGKILL); });
  ::close(held[1]);
  CHECK(host.heard() == "gone");
  CHECK(test::code_of(guardian) == 128 + SIGKILL);
  char byte = 0;
  CHECK(::read(held[0], &byte, 1) == 0);
  ::close(held[0]);
}

TEST_CASE("an agent that crashes is no other case", "[last_word]") {
  Connection host;
  auto const guardian = start_pair(host, [](GuardianLine&) {
    ::signal(SIGABRT, SIG_DFL);
    std::abort();
  });
  CHECK(host.heard() == "gone");
  CHECK(test::code_of(guardian) == 128 + SIGABRT);
}

TEST_CASE("an agent that finished in order has no last word", "[last_word]") {
  Connection host;
  auto const guardian = start_pair(host, [](GuardianLine& line) {
    line.finished();
    ::_exit(7);
  });
  CHECK(host.heard() == "");
  CHECK(test::code_of(guardian) == 7);
}
