// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/prober.hpp"

#include "rendezvous/net/server.hpp"
#include "tests/unit/net/control_pair.hpp"

#include <optional>
#include <sys/socket.h>

using namespace muster;
using namespace muster::net;
using membership::ProbeFailure;
using membership::ProbeTarget;

namespace {

using Failures = std::vector<ProbeFailure>;

ProbeTarget target(std::uint16_t port, std::string address = "127.0.0.1") {
  return {"peer", std::move(address), port, false};
}

Failures probe(asio::io_context& io, std::vector<ProbeTarget> targets,
               Duration patience = std::chrono::seconds{20}) {
  Prober prober(io);
  std::optional<Failures> result;
  prober.start(std::move(targets), patience, [&](Failures failures) { result = failures; });
  CHECK_FALSE(result);
  REQUIRE(run_until(io, [&] { return result.has_value(); }));
  return *result;
}

// The kernel drops every further call to a listener whose queue is full and which accepts nobody.
class FullListener {
 public:
  explicit FullListener(asio::io_context& io) : acceptor_(io, {tcp::v4(), 0}, false) {
    acceptor_.listen(0);
    tcp::endpoint const here(asio::ip::address_v4::loopback(), port());
    int status = 0;
    for (int i = 0; i < 4; ++i) {
      auto& caller = callers_.emplace_back(io, tcp::v4());
      caller.native_non_blocking(true);
      status = ::connect(caller.native_handle(), here.data(), static_cast<socklen_t>(here.size()));
    }
    REQUIRE(status != 0);  // the last one is not answered
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  tcp::acceptor acceptor_;
  std::vector<tcp::socket> callers_;
};

std::uint16_t closed_port(asio::io_context& io) {
  auto const probe = listen_on(io, "127.0.0.1", 0);
  REQUIRE(probe);
  return probe->local_endpoint().port();
}

}  // namespace

TEST_CASE("nothing is reported of who can be reached", "[net]") {
  asio::io_context io{1};
  auto const a = listen_on(io, "127.0.0.1", 0), b = listen_on(io, "", 0);
  REQUIRE((a && b));
  auto const any = b->local_endpoint().port();
  CHECK(probe(io, {target(a->local_endpoint().port()), target(any), target(any, "localhost")})
            .empty());
  CHECK(probe(io, {}).empty());
}

TEST_CASE("who cannot be reached is reported with the step and the reason", "[net]") {
  asio::io_context io{1};
  auto const open = listen_on(io, "127.0.0.1", 0);
  REQUIRE(open);
  auto const refused = target(closed_port(io)), nameless = target(1, "nowhere.invalid");
  auto const failures = probe(io, {refused, target(open->local_endpoint().port()), nameless});
  REQUIRE(failures.size() == 2);
  CHECK(failures[0] == ProbeFailure{refused, "connect: Connection refused"});
  CHECK(failures[1].target == nameless);
  CHECK_THAT(failures[1].error, Catch::StartsWith("resolve: "));
}

TEST_CASE("who does not answer in time is reported, and so is who was not tried", "[net]") {
  asio::io_context io{1};
  FullListener const silent(io);
  std::vector<ProbeTarget> const targets(70, target(silent.port()));
  auto const failures = probe(io, targets, std::chrono::milliseconds{100});
  REQUIRE(failures.size() == 70);
  CHECK(failures[0].error == "connect: no answer within 0.1 s");
  CHECK(failures[63].error == failures[0].error);
  CHECK(failures[64].error == "not tried: the others took 0.1 s");
}

TEST_CASE("more targets than sockets are dialled in turns", "[net]") {
  asio::io_context io{1};
  auto const open = listen_on(io, "127.0.0.1", 0);
  REQUIRE(open);
  std::vector<ProbeTarget> targets(300, target(open->local_endpoint().port()));
  targets[299] = target(closed_port(io));
  auto const failures = probe(io, targets);
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].target == targets[299]);
}

TEST_CASE("a prober that is gone or was started anew does not report the old run", "[net]") {
  asio::io_context io{1};
  auto const open = listen_on(io, "127.0.0.1", 0);
  REQUIRE(open);
  auto const there = target(open->local_endpoint().port());
  int first = 0, second = 0;
  {
    Prober prober(io);
    prober.start({there}, std::chrono::seconds{20}, [&](Failures const&) { ++first; });
    prober.start({there}, std::chrono::seconds{20}, [&](Failures const&) { ++second; });
    REQUIRE(run_until(io, [&] { return second == 1; }));
    prober.start({there}, std::chrono::seconds{20}, [&](Failures const&) { ++first; });
  }
  io.restart();
  io.run();  // until nothing is left to do
  CHECK(first == 0);
  CHECK(second == 1);
}

TEST_CASE("a server takes a probe for nothing wrong", "[net]") {
  asio::io_context io{1};
  auto acceptor = listen_on(io, "127.0.0.1", 0);
  REQUIRE(acceptor);
  Server const server(*std::move(acceptor), ServerOptions{});
  CHECK(probe(io, {target(server.port())}).empty());
  REQUIRE(
      run_until(io, [&] { return server.counters().accepted == 1 && server.connections() == 0; }));
  CHECK(server.counters().unknown_greetings == 0);
  CHECK(server.counters().late_greetings == 0);
  CHECK(server.counters().violations == 0);
}

TEST_CASE("a store is reached when it answers", "[net]") {
  asio::io_context io{1};
  auto acceptor = listen_on(io, "127.0.0.1", 0);
  REQUIRE(acceptor);
  ServerOptions options;
  SECTION("it does") {
    Server const server(*std::move(acceptor), std::move(options));
    CHECK(probe(io, {{"peer", "127.0.0.1", server.port(), true}}).empty());
    CHECK(server.counters().unknown_greetings == 0);
  }
  SECTION("it closes: it is for others") {
    options.serves_store = false;
    Server const server(*std::move(acceptor), std::move(options));
    auto const failures = probe(io, {{"peer", "127.0.0.1", server.port(), true}});
    REQUIRE(failures.size() == 1);
    CHECK_THAT(failures[0].error, Catch::StartsWith("its store closed the connection") &&
                                      Catch::Contains("--open-store"));
  }
  SECTION("it says nothing") {
    auto const failures =
        probe(io, {{"peer", "127.0.0.1", acceptor->local_endpoint().port(), true}},
              std::chrono::milliseconds{100});
    CHECK(failures.size() == 1);
  }
}
