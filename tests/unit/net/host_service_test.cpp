// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/host_service.hpp"

#include "tests/unit/net/control_pair.hpp"

#include <algorithm>

using namespace muster;
using namespace muster::net;
using namespace muster::membership;

namespace {

struct Client {
  ControlConnection::Ptr connection;
  std::vector<Message> heard;
  bool ended = false;

  template <class M>
  bool has() const {
    return std::any_of(heard.begin(), heard.end(),
                       [](auto const& m) { return std::holds_alternative<M>(m); });
  }
  ~Client() {
    if (connection) connection->close();
  }
};

struct Bench {
  asio::io_context io{1};
  HostService service;
  std::vector<std::string> finished;

  explicit Bench(std::optional<std::string> only_run = {})
      : service(io, options(std::move(only_run))) {}

  HostServiceOptions options(std::optional<std::string> only_run) {
    HostServiceOptions made;
    made.name = "head";
    made.self = Incarnation{1000};
    made.only_run = std::move(only_run);
    made.on_finished = [this](std::string const& run_id) { finished.push_back(run_id); };
    return made;
  }
  void connect(Client& client) {
    auto [near, far] = socket_pair(io);
    client.connection = std::make_shared<ControlConnection>(std::move(near), "client");
    ControlConnection::Callbacks callbacks;
    callbacks.on_letter = [&client](control::Letter letter) {
      client.heard.push_back(std::move(letter.message));
    };
    callbacks.on_end = [&client](Error const&) { client.ended = true; };
    ControlConnection::start(client.connection, {}, std::move(callbacks));
    service.take(std::move(far), {});
  }
  void join(Client& client, std::uint64_t member, std::string run_id = "job") {
    connect(client);
    Join request;
    request.facts.host = "n" + std::to_string(member);
    request.job.min_nodes = request.job.max_nodes = 2;
    request.job.join_timeout = std::chrono::milliseconds{200};
    ControlConnection::send(client.connection, letter_of(request, member, std::move(run_id)));
  }
  template <class F>
  bool until(F const& condition) {
    return run_until(io, condition);
  }
};

}  // namespace

TEST_CASE("jobs of one host never see each other", "[net]") {
  Bench bench;
  Client a, b, other;
  bench.join(a, 1);
  bench.join(other, 3, "other");
  REQUIRE(bench.until([&] { return a.has<Waiting>() && other.has<Waiting>(); }));
  CHECK_FALSE(a.has<OpenStore>());
  CHECK(bench.service.jobs() == 2);
  bench.join(b, 2);
  REQUIRE(bench.until([&] { return a.has<OpenStore>(); }));
  CHECK_FALSE(other.has<OpenStore>());
  CHECK(bench.service.reasons().at("other") == Why{why::WaitingForNodes{1, 2, 2}});
}

TEST_CASE("a host inside an agent refuses other jobs and hangs up", "[net]") {
  Bench bench("mine");
  Client a;
  bench.join(a, 1, "yours");
  REQUIRE(bench.until([&] { return a.ended; }));
  CHECK(a.has<Refused>());
  CHECK(bench.service.jobs() == 0);
}

TEST_CASE("a member that calls again replaces its old connection", "[net]") {
  Bench bench;
  Client first, again;
  bench.join(first, 1);
  REQUIRE(bench.until([&] { return first.has<Welcome>(); }));
  bench.join(again, 1);
  REQUIRE(bench.until([&] { return again.has<Welcome>() && first.ended; }));
  CHECK(bench.service.jobs() == 1);
}

TEST_CASE("one connection speaks for one member", "[net]") {
  Bench bench;
  Client a, b;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
  Join forged;
  forged.job.min_nodes = forged.job.max_nodes = 2;
  ControlConnection::send(a.connection, letter_of(forged, 2));
  ControlConnection::send(a.connection, letter_of(Lease{}, 1));
  REQUIRE(bench.until([&] { return a.has<Deposed>(); }));  // the second one: it names no epoch
  CHECK_FALSE(a.has<OpenStore>());
}

TEST_CASE("a job that never forms is over, its members told, its id free again", "[net]") {
  Bench bench;
  Client a;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.ended; }));
  CHECK(a.has<Refused>());
  REQUIRE(bench.until([&] { return !bench.finished.empty(); }));
  CHECK(bench.finished == std::vector<std::string>{"job"});
  CHECK(bench.service.jobs() == 0);
  Client b;
  bench.join(b, 2);
  REQUIRE(bench.until([&] { return b.has<Welcome>(); }));
}

TEST_CASE("a member in this process hears by posted calls", "[net]") {
  Bench bench("job");
  std::vector<Message> heard;
  Join request;
  request.job.min_nodes = request.job.max_nodes = 2;
  bench.service.local_letter(letter_of(request, 1), [&heard](control::Letter letter) {
    heard.push_back(std::move(letter.message));
  });
  CHECK(heard.empty());
  REQUIRE(bench.until([&] { return !heard.empty(); }));
  CHECK(std::holds_alternative<Welcome>(heard[0]));
}
