// SPDX-License-Identifier: Apache-2.0
// A job token on control connections over real sockets: who is let in, and what somebody in between
// can do.
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/net/host_service.hpp"
#include "tests/unit/secure/secured.hpp"

#include <sys/socket.h>

using namespace muster;
using namespace muster::net;
using namespace muster::membership;

namespace {

using control::Fault;
using control::Role;

// Passes bytes on between two sockets, and may change what passes.
struct Between {
  asio::io_context& io;
  tcp::socket near, far;
  std::function<void(std::string&)> change;
  std::string passed;  // to the far side

  static void pass(tcp::socket& from, tcp::socket& to, std::string* record,
                   std::function<void(std::string&)> const& change) {
    std::string bytes(65'536, '\0');
    error_code ec;
    auto const count = from.read_some(asio::buffer(bytes), ec);
    if (ec) return;
    bytes.resize(count);
    if (change) change(bytes);
    if (record) *record += bytes;
    asio::write(to, asio::buffer(bytes), ec);
  }
  void turn() {
    near.non_blocking(true);
    far.non_blocking(true);
    pass(near, far, &passed, change);
    pass(far, near, nullptr, {});
    io.restart();
    io.poll();
  }
};

struct Intercepted : Conversation {
  std::optional<Between> between;

  void begin(Security::Ptr callers, Security::Ptr hosts) {
    auto [client, near] = socket_pair(io);
    auto [far, server] = socket_pair(io);
    caller.start(std::move(client), Role::caller, std::move(callers));
    host.start(std::move(server), Role::host, std::move(hosts));
    between.emplace(Between{io, std::move(near), std::move(far), {}, {}});
  }
  template <class F>
  bool turn_until(F const& condition) {
    auto const deadline = deadline_in(std::chrono::seconds{20});
    while (!condition() && !deadline.passed(now())) between->turn();
    return condition();
  }
};

}  // namespace

TEST_CASE("two sides with one token exchange letters, also those sent before", "[secure]") {
  Conversation talk;
  auto const security = with_token();
  talk.begin(security, security);
  ControlConnection::send(talk.caller.connection, letter_of(OutcomeAck{}));
  REQUIRE(run_until(talk.io, [&] { return talk.host.letters.size() == 1; }));
  for (int i = 0; i < 100; ++i) {
    ControlConnection::send(talk.caller.connection, letter_of(Lease{i, 0, 0, {}, {}}));
    ControlConnection::send(talk.host.connection, letter_of(Lease{i, 0, 0, {}, {}}));
  }
  REQUIRE(run_until(talk.io, [&] {
    return talk.host.letters.size() == 101 && talk.caller.letters.size() == 100;
  }));
  CHECK(talk.caller.greeted);
}

TEST_CASE("another token, or none, is refused in words on both sides", "[secure]") {
  Conversation talk;
  SECTION("another") {
    talk.begin(with_token(kOtherToken), with_token());
    REQUIRE(talk.until_ended());
    CHECK(talk.caller.end->what == "host bob refused this node's job token: it has another");
    CHECK(talk.host.end->what == "host alice does not know the job token");
    CHECK(talk.host.fault() == Fault::token);
  }
  SECTION("the caller has none") {
    talk.begin(nullptr, with_token());
    REQUIRE(talk.until_ended());
    CHECK(talk.caller.end->what == "host bob asks for a job token; this node has none");
    CHECK(talk.host.end->what == "host alice has no job token; this node asks for one");
    CHECK(talk.host.fault() == Fault::no_token);
  }
  SECTION("the host has none") {
    talk.begin(with_token(), nullptr);
    REQUIRE(talk.until_ended());
    CHECK(talk.caller.end->what == "host bob has no job token; this node asks for one");
    CHECK(talk.host.end->what == "host alice asks for a job token; this node has none");
  }
  CHECK(talk.caller.end->code == Errc::refused);
  CHECK_FALSE(talk.caller.greeted);
  CHECK_FALSE(talk.host.greeted);
}

TEST_CASE("a letter before the proof is none", "[secure]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side host;
  host.start(std::move(server), Role::host, with_token());
  control::Opening liar;
  liar.asks_token = true;
  liar.nonce = std::string(control::kNonceBytes, 'l');
  asio::write(client, asio::buffer(control::encode_opening(liar) +
                                   control::frame(control::encode(letter_of(OutcomeAck{})))));
  REQUIRE(run_until(io, [&] { return host.end.has_value(); }));
  CHECK(host.letters.empty());
  CHECK_FALSE(host.greeted);
}

TEST_CASE("a conversation that was recorded opens no second connection", "[secure]") {
  Intercepted talk;
  auto const security = with_token();
  talk.begin(security, security);
  ControlConnection::send(talk.caller.connection, letter_of(OutcomeAck{}));
  REQUIRE(talk.turn_until([&] { return talk.host.letters.size() == 1; }));
  auto [client, server] = socket_pair(talk.io);
  Side again;
  again.start(std::move(server), Role::host, security);
  asio::write(client, asio::buffer(talk.between->passed));
  REQUIRE(run_until(talk.io, [&] { return again.end.has_value(); }));
  CHECK(again.fault() == Fault::token);
  CHECK(again.letters.empty());
}

TEST_CASE("what somebody in between changes, doubles or leaves out is noticed", "[secure]") {
  Intercepted talk;
  auto const security = with_token();
  talk.begin(security, security);
  REQUIRE(talk.turn_until([&] { return talk.caller.greeted && talk.host.greeted; }));
  auto const how = GENERATE(0, 1, 2);
  auto frames = 0;
  talk.between->change = [&](std::string& bytes) {
    if (++frames > 1) return;
    if (how == 0) bytes[bytes.size() / 2] ^= 1;
    if (how == 1) bytes += bytes;
    if (how == 2) bytes.clear();
  };
  for (std::size_t sent = 1; !talk.host.end; ++sent) {
    ControlConnection::send(talk.caller.connection, letter_of(OutcomeAck{}));
    REQUIRE(talk.turn_until([&] {
      return talk.host.end || talk.host.letters.size() == sent || (how == 2 && sent == 1);
    }));
    if (how == 2 && sent == 1) REQUIRE(talk.turn_until([&] { return frames == 1; }));
    REQUIRE(sent < 5);
  }
  CHECK(talk.host.fault() == Fault::forged);
  CHECK(talk.host.letters.size() == (how == 1 ? 1 : 0));
}

TEST_CASE("a caller speaks for the job that it proved itself for", "[secure]") {
  Conversation talk;
  auto const security = with_token();
  talk.begin(security, security);
  REQUIRE(talk.until_greeted());
  ControlConnection::send(talk.caller.connection, letter_of(OutcomeAck{}, 1, "another job"));
  REQUIRE(run_until(talk.io, [&] { return talk.host.end.has_value(); }));
  CHECK(talk.host.fault() == Fault::protocol);
  CHECK(talk.host.end->what.find("opened for run 'job'") != std::string::npos);
}

TEST_CASE("a connection that was given away carries its last letter and no other", "[secure]") {
  Conversation talk;
  auto const security = GENERATE_COPY(0, 1, 2) == 0 ? Security::Ptr()
                        : GENERATE_COPY(0, 1) == 0  ? with_token()
                                                    : with_tls("node", "ca", kToken);
  talk.begin(security, security);
  REQUIRE(talk.until_greeted());
  auto parted =
      ControlConnection::part(talk.caller.connection, letter_of(LastWord{Incarnation{7}}));
  REQUIRE(parted);
  CHECK_FALSE(talk.caller.connection->is_open());
  auto const& bytes = parted->bytes;
  REQUIRE(::send(parted->socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  REQUIRE(run_until(talk.io, [&] { return talk.host.letters.size() == 1; }));
  CHECK(std::get<LastWord>(talk.host.letters[0].message).node == Incarnation{7});
  parted->socket.reset();
  REQUIRE(run_until(talk.io, [&] { return talk.host.end.has_value(); }));
  CHECK(talk.host.end->code == Errc::closed);
}

TEST_CASE("a host service asks its callers for the token and counts who lacks it", "[secure]") {
  asio::io_context io{1};
  HostServiceOptions options;
  options.name = "head";
  options.self = Incarnation{1000};
  options.security = with_token();
  HostService service(io, std::move(options));
  auto [client, server] = socket_pair(io);
  Side caller;
  caller.start(std::move(client), Role::caller, with_token(kOtherToken));
  service.take(std::move(server), {});
  REQUIRE(run_until(io, [&] { return caller.end.has_value(); }));
  CHECK(caller.end->code == Errc::refused);
  CHECK(service.counters().ended[static_cast<std::size_t>(Fault::token)] == 1);
  auto [good, there] = socket_pair(io);
  Side member;
  member.start(std::move(good), Role::caller, with_token());
  service.take(std::move(there), {});
  Join join;
  join.job.min_nodes = join.job.max_nodes = 2;
  ControlConnection::send(member.connection, letter_of(join));
  REQUIRE(run_until(io, [&] { return !member.letters.empty(); }));
}
