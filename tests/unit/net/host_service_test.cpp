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
  std::optional<HostIs> successor;
  std::vector<control::Letter> others;

  explicit Bench(std::optional<std::string> only_run = {}, bool is_agent = false)
      : service(io, options(std::move(only_run), is_agent)) {}

  HostServiceOptions options(std::optional<std::string> only_run, bool is_agent) {
    HostServiceOptions made;
    made.begins_jobs = !is_agent;
    if (is_agent)
      made.on_other = [this](control::Letter letter) { others.push_back(std::move(letter)); };
    made.name = "head";
    made.self = Incarnation{1000};
    made.only_run = std::move(only_run);
    made.on_finished = [this](std::string const& run_id, std::optional<HostIs> const& to) {
      finished.push_back(run_id);
      successor = to;
    };
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
  void say(Client& client, Message message, std::uint64_t member) {
    ControlConnection::send(client.connection, letter_of(std::move(message), member));
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

TEST_CASE("nobody else speaks for the member of this very process", "[net]") {
  Bench bench;
  Client liar;
  bench.join(liar, 1000);
  REQUIRE(bench.until([&] { return liar.ended; }));
  CHECK(liar.heard.empty());
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

TEST_CASE("a lease on a connection without a JOIN is hung up on, so that a JOIN follows", "[net]") {
  Bench bench;
  Client a, other, again;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
  SECTION("of a job that is here") {
    bench.connect(other);
    bench.say(other, Lease{}, 2);
  }
  SECTION("of a job that is not") {
    bench.connect(other);
    ControlConnection::send(other.connection, letter_of(Lease{}, 2, "unknown"));
  }
  REQUIRE(bench.until([&] { return other.ended; }));
  CHECK_FALSE(a.ended);
  bench.join(again, 2);
  REQUIRE(bench.until([&] { return again.has<Welcome>(); }));
  again.heard.clear();
  bench.say(again, Lease{}, 2);
  bench.say(again, Join{}, 2);  // said on the same connection, and heard there
  REQUIRE(bench.until([&] { return again.has<Welcome>() || again.ended; }));
  CHECK_FALSE(again.ended);
}

TEST_CASE("one connection speaks for one member", "[net]") {
  Bench bench;
  Client a;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.has<Waiting>(); }));
  Join forged;
  forged.job.min_nodes = forged.job.max_nodes = 2;
  bench.say(a, forged, 2);
  a.heard.clear();
  bench.say(a, forged, 1);
  REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
  CHECK_FALSE(a.has<OpenStore>());
  CHECK(bench.service.reasons().at("job") == Why{why::WaitingForNodes{1, 2, 2}});
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

TEST_CASE("a job is over when the last of its members has hung up, or had its time", "[net]") {
  Bench bench("job", true);
  bench.service.begin_jobs(Generation{});
  Join request;
  request.job.min_nodes = request.job.max_nodes = 3;
  Client member;
  bench.connect(member);
  bench.say(member, request, 1);
  std::optional<tcp::socket> mute;
  SECTION("all hang up") {}
  SECTION("one reads nothing any more") {
    auto [near, far] = socket_pair(bench.io);
    auto const said = control::plain_opening("mute", "job") +
                      control::frame(control::encode(letter_of(request, 2)));
    asio::write(near, asio::buffer(said));
    mute.emplace(std::move(near));
    bench.service.take(std::move(far), {});
  }
  REQUIRE(bench.until([&] { return member.has<Welcome>(); }));
  HostIs elsewhere;
  elsewhere.generation = bench.service.hosted("job")->generation;
  elsewhere.epoch = Epoch{2};
  elsewhere.host = {Incarnation{7}, "n7", "10.0.0.7", 29400};
  elsewhere.committed = true;
  bench.service.overrule("job", elsewhere);
  CHECK(bench.service.jobs() == 0);
  CHECK(bench.finished.empty());
  REQUIRE(bench.until([&] { return !bench.finished.empty(); }));
  CHECK(member.ended);
  CHECK(bench.successor == elsewhere);
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

TEST_CASE("an agent that does not host hears what others say to it, and answers there", "[net]") {
  Bench bench("job", true);
  Client a, b;
  bench.join(a, 1);
  bench.connect(b);
  bench.say(b, Ask{7}, 2);
  REQUIRE(bench.until([&] { return bench.others.size() == 2; }));
  CHECK(bench.service.jobs() == 0);
  bench.service.reply(Incarnation{2}, letter_of(Answer{7, true}, 1000));
  REQUIRE(bench.until([&] { return b.has<Answer>(); }));
  CHECK_FALSE(a.has<Answer>());
  bench.service.reply(Incarnation{3}, letter_of(Answer{}, 1000));  // nobody
}

TEST_CASE("an agent that hosts is still asked as a voter", "[net]") {
  Bench bench("job", true);
  bench.service.begin_jobs(Generation{});
  Client a;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
  CHECK(bench.others.empty());
  bench.say(a, VoteRequest{}, 1);
  REQUIRE(bench.until([&] { return bench.others.size() == 1; }));
  CHECK(std::holds_alternative<VoteRequest>(bench.others[0].message));
}

TEST_CASE("a later life of a job has a later generation, also after a restart", "[net]") {
  auto const generation = [] {
    Bench bench("job", true);
    bench.service.begin_jobs(Generation{});
    Client a;
    bench.join(a, 1);
    REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
    return bench.service.hosted("job")->generation;
  };
  auto const first = generation();
  constexpr std::int64_t kMillisecond = 1'000'000;  // lives are told apart by the wall clock's
  auto const begin = wall_clock_ns() / kMillisecond;
  while (wall_clock_ns() / kMillisecond == begin) continue;
  CHECK(generation() > first);
  Bench late("job", true);
  late.service.begin_jobs(Generation{first.value + 1'000'000'000});
  Client a;
  late.join(a, 1);
  REQUIRE(late.until([&] { return a.has<Welcome>(); }));
  CHECK(late.service.hosted("job")->generation.value == first.value + 1'000'000'001);
}

TEST_CASE("who asks for a job that has moved is told where it is", "[net]") {
  Bench bench;
  Client host, late;
  bench.connect(host);
  HostIs is;
  is.generation = Generation{5};
  is.epoch = Epoch{2};
  is.host = {Incarnation{7}, "n7", "10.0.0.7", 29400};
  is.committed = true;
  SECTION("a host calls that was elected while nobody listened here") {
    bench.say(host, is, 7);
    Client other;
    bench.join(other, 3, "other");  // the letter before has arrived, too
    REQUIRE(bench.until([&] { return other.has<Welcome>(); }));
  }
  SECTION("a job that was born here is overruled") {
    Client newborn;
    bench.join(newborn, 1);
    REQUIRE(bench.until([&] { return newborn.has<Welcome>(); }));
    bench.say(host, is, 7);
    REQUIRE(bench.until([&] { return !bench.finished.empty(); }));
    CHECK(newborn.has<HostIs>());
    CHECK(bench.successor == is);
  }
  bench.join(late, 2);
  REQUIRE(bench.until([&] { return late.has<HostIs>(); }));
  auto const told = std::find_if(late.heard.begin(), late.heard.end(), [](Message const& m) {
    return std::holds_alternative<HostIs>(m);
  });
  CHECK(std::get<HostIs>(*told) == is);
  CHECK_FALSE(late.has<Welcome>());
}

TEST_CASE("a host that ends hands its jobs over", "[net]") {
  Bench bench;
  Client a;
  bench.join(a, 1);
  REQUIRE(bench.until([&] { return a.has<Welcome>(); }));
  auto rests = false;
  bench.service.resign(std::chrono::seconds{20}, [&rests] { rests = true; });
  REQUIRE(bench.until([&] { return rests; }));
  CHECK(a.has<Resigned>());
  CHECK(a.ended);
  CHECK(bench.service.jobs() == 0);
  Client b;
  bench.join(b, 2);
  bench.say(b, Ask{}, 2);
  CHECK(bench.service.jobs() == 0);
}

TEST_CASE("a member that missed the end of its job is told when it calls again", "[net]") {
  Bench bench;
  Client member, late, newcomer;
  Join request;
  request.job.quiet = request.job.outcome_patience = Duration::zero();
  bench.connect(member);
  ControlConnection::send(member.connection, letter_of(request, 1));
  REQUIRE(bench.until([&] { return member.has<OpenStore>(); }));
  auto const generation = bench.service.hosted("job")->generation;
  auto const letter = [&](Message message) {
    auto made = letter_of(std::move(message), 1);
    made.header.generation = generation;
    made.header.epoch = Epoch{1};
    return made;
  };
  auto const say = [&](Message message) {
    ControlConnection::send(member.connection, letter(std::move(message)));
  };
  say(StoreOpened{RoundNumber{1}, 4000, {}});
  say(Prepared{RoundNumber{1}, {}});
  REQUIRE(bench.until([&] { return member.has<Commit>(); }));
  say(Done{RoundNumber{1}});
  say(Prepared{RoundNumber{2}, {}});
  REQUIRE(bench.until([&] { return member.has<Released>() && !bench.finished.empty(); }));

  bench.connect(late);
  ControlConnection::send(late.connection, letter(request));
  REQUIRE(bench.until([&] { return late.ended; }));
  CHECK(late.has<Outcome>());
  CHECK(late.has<Released>());
  CHECK(bench.service.jobs() == 0);

  bench.join(newcomer, 2);  // the id has another life
  REQUIRE(bench.until([&] { return newcomer.has<Welcome>(); }));
  CHECK_FALSE(newcomer.has<Outcome>());
  CHECK(bench.service.hosted("job")->generation > generation);
}
