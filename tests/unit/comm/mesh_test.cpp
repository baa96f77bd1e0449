// SPDX-License-Identifier: Apache-2.0
// Ranks as processes, one of which dies or stops: what the others hear, and that they hear it from
// the connections and not from a deadline.
#include "worker_runtime/comm/mesh.hpp"

#include "rendezvous/base/now.hpp"
#include "tests/unit/comm/tcp_world.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>

using namespace muster;
using namespace muster::worker;
using namespace muster::worker::cases;
using namespace std::chrono_literals;

namespace {

struct Child {
  pid_t pid = -1;
  UniqueFd port_in;   // the parent tells the store's port here
  UniqueFd said_out;  // the child's words: "r", then the error
};

struct Case {
  int size = 3;
  std::int64_t elements = 0;
  Duration op_deadline = 10min;
};

void say(int fd, std::string const& text) {
  static_cast<void>(!::write(fd, text.data(), text.size()));
}

// A rank that reduces for ever and tells the error that ends it.
[[noreturn]] void be_rank(int rank, Case const& setting, int port_fd, int say_fd) {
  std::uint16_t port = 0;
  if (::read(port_fd, &port, sizeof port) != sizeof port) ::_exit(3);
  auto session = Session::open(environment_of(rank, setting.size, port));
  if (!session) {
    say(say_fd, "e" + to_string(session.error()));
    ::_exit(4);
  }
  auto const tensor = Tensor::zeros(Shape{setting.elements});
  for (bool first = true;; first = false) {
    CallOptions options;
    options.deadline = deadline_in(setting.op_deadline);
    auto const result = all_reduce(session->world(), tensor, options).wait();
    if (first) say(say_fd, "r");
    if (result) continue;
    say(say_fd, std::string(name_of(result.error().code)) + ": " + result.error().what);
    ::_exit(0);
  }
}

Child start_child(int rank, Case const& setting) {
  auto port = make_pipe();
  auto said = make_pipe();
  REQUIRE(port);
  REQUIRE(said);
  Child child;
  child.pid = ::fork();
  REQUIRE(child.pid >= 0);
  if (child.pid == 0) be_rank(rank, setting, port->read_end.get(), said->write_end.get());
  child.port_in = std::move(port->write_end);
  child.said_out = std::move(said->read_end);
  return child;
}

// What the child says next; empty if it says nothing before the deadline.
std::string hear(Child const& child, Deadline deadline) {
  pollfd entry{child.said_out.get(), POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(deadline.left(now()) / 1ms)) <= 0) return {};
  std::array<char, 2'048> bytes;
  auto const got = ::read(child.said_out.get(), bytes.data(), bytes.size());
  return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

class Processes {
 public:
  // Children first: a process with threads must not fork under TSan.
  explicit Processes(Case const& setting) {
    for (int rank = 0; rank < setting.size; ++rank) children_.push_back(start_child(rank, setting));
    store_.emplace(*net::HostedStore::start("127.0.0.1", 0));
    auto const port = store_->port();
    for (auto const& child : children_)
      REQUIRE(::write(child.port_in.get(), &port, sizeof port) == sizeof port);
    for (auto const& child : children_) REQUIRE(hear(child, deadline_in(30s)) == "r");
  }
  ~Processes() {
    for (auto const& child : children_) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
  }
  void signal(int rank, int number) const { ::kill(at(rank).pid, number); }
  std::string hear_from(int rank) const { return hear(at(rank), deadline_in(30s)); }

 private:
  Child const& at(int rank) const { return children_[static_cast<std::size_t>(rank)]; }
  std::vector<Child> children_;
  std::optional<net::HostedStore> store_;
};

}  // namespace

TEST_CASE("a killed rank is a lost peer to all others, named by all of them", "[processes]") {
  Case setting;
  setting.size = GENERATE(2, 3, 4, 5);
  setting.elements = GENERATE(1, 50'000, 2'000'000);
  auto const victim =
      GENERATE_COPY(filter([=](int r) { return r < setting.size; }, values({0, 2})));
  INFO("world " << setting.size << " elements " << setting.elements << " victim " << victim);
  Processes const processes(setting);
  processes.signal(victim, SIGKILL);
  auto const started = now();
  for (int rank = 0; rank < setting.size; ++rank) {
    if (rank == victim) continue;
    auto const heard = processes.hear_from(rank);
    INFO("rank " << rank << " said: " << heard);
    CHECK(heard.substr(0, 11) == "peer_lost: ");
    CHECK(heard.find("rank " + std::to_string(victim) + " (") != std::string::npos);
  }
  // The figure of the README; a slow machine does not make it a failure.
  if (now() - started > 1s) WARN("the news took " << (now() - started) / 1ms << " ms");
}

TEST_CASE("a stopped rank is named when the deadline passes", "[processes]") {
  Case setting;
  setting.op_deadline = 3s;
  setting.elements = 1'000;
  Processes const processes(setting);
  processes.signal(2, SIGSTOP);
  for (int const rank : {0, 1}) {
    auto const heard = processes.hear_from(rank);
    INFO("rank " << rank << " said: " << heard);
    CHECK(heard.substr(0, 9) == "timeout: ");
    CHECK(heard.find("rank 2 (") != std::string::npos);
  }
}

TEST_CASE("faults of the group keep their code when told on, a peer's own reasons do not") {
  Mesh mesh;
  mesh.peers.resize(2);
  mesh.peer(1).seat.host = "b";
  auto const fault = as_told_by(mesh, 1, Error{Errc::mismatch, "x", {}});
  CHECK(fault.report == Error{Errc::mismatch, "x, says rank 1 (b)", {}});
  CHECK(fault.pass_on == Error{Errc::mismatch, "x", {}});
  auto const own = as_told_by(mesh, 1, Error{Errc::non_finite, "loss is NaN", "h"});
  CHECK(own.report == Error{Errc::peer_lost, "rank 1 (b) gave up: loss is NaN", "h"});
  CHECK(own.pass_on == own.report);
}
