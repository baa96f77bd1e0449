// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/voter_step.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;

namespace {

Record record(std::uint64_t epoch, std::uint64_t round) {
  Record made;
  made.generation = Generation{1};
  made.epoch = Epoch{epoch};
  made.round = RoundNumber{round};
  return made;
}

}  // namespace

using namespace std::chrono_literals;

namespace {

constexpr TimePoint kNow{100s};
HostSilence const kMissed{6s, false, 4s, false, false};

auto prepare(Voter& voter, std::uint64_t epoch, std::uint64_t round) {
  return answer_prepare(voter, {record(epoch, round), {}}, kNow);
}

Voter voter_in(std::uint64_t epoch, std::uint64_t round) {
  Voter voter;
  (void)prepare(voter, epoch, round);
  (void)accept_commit(voter, record(epoch, round));
  return voter;
}

}  // namespace

TEST_CASE("a prepared record is kept and the newest one wins", "[membership]") {
  Voter voter;
  CHECK(std::holds_alternative<Prepared>(prepare(voter, 1, 2)));
  CHECK(std::holds_alternative<Prepared>(prepare(voter, 1, 1)));
  CHECK(voter.prepared->record.round == RoundNumber{2});
  CHECK_FALSE(voter.committed);
}

TEST_CASE("an older reign is answered with the present one", "[membership]") {
  Voter voter;
  (void)prepare(voter, 3, 5);
  auto const answer = prepare(voter, 2, 6);
  REQUIRE(std::holds_alternative<HostIs>(answer));
  CHECK(std::get<HostIs>(answer).epoch == Epoch{3});
  CHECK_FALSE(accept_commit(voter, record(2, 6)));
}

TEST_CASE("a commit is news once", "[membership]") {
  Voter voter;
  CHECK(accept_commit(voter, record(1, 1)));
  CHECK_FALSE(accept_commit(voter, record(1, 1)));
  CHECK(accept_commit(voter, record(1, 2)));
  CHECK_FALSE(accept_commit(voter, record(1, 1)));
  CHECK(accept_commit(voter, record(2, 3)));
}

TEST_CASE("a voter votes once an epoch and never for one that it left", "[membership]") {
  auto voter = voter_in(2, 4);
  CHECK_FALSE(answer_vote(voter, {Epoch{2}, false, false}, kMissed, kNow).granted);
  auto const reply = answer_vote(voter, {Epoch{3}, false, false}, kMissed, kNow);
  CHECK(reply.granted);
  CHECK(reply.highest->record == record(2, 4));
  CHECK_FALSE(answer_vote(voter, {Epoch{3}, false, false}, kMissed, kNow).granted);
  CHECK(std::holds_alternative<HostIs>(prepare(voter, 2, 5)));
  CHECK(answer_vote(voter, {Epoch{4}, false, false}, kMissed, kNow).granted);
}

TEST_CASE("a trial binds nobody", "[membership]") {
  auto voter = voter_in(1, 1);
  CHECK(answer_vote(voter, {Epoch{2}, false, true}, kMissed, kNow).granted);
  CHECK(voter.promised == Epoch{1});
  CHECK(answer_vote(voter, {Epoch{2}, false, false}, kMissed, kNow).granted);
}

TEST_CASE("nobody is voted for while the host is there", "[membership]") {
  auto voter = voter_in(1, 1);
  HostSilence host{1s, true, 4s, false, false};
  CHECK_FALSE(answer_vote(voter, {Epoch{2}, false, false}, host, kNow).granted);
  SECTION("it wants a newer reign itself") {
    host.asks_itself = true;
    CHECK(answer_vote(voter, {Epoch{2}, false, false}, host, kNow).granted);
  }
  SECTION("somebody answers in its place") {
    CHECK_FALSE(answer_vote(voter, {Epoch{2}, true, false}, host, kNow).granted);
    host.connected = false;
    CHECK(answer_vote(voter, {Epoch{2}, true, false}, host, kNow).granted);
  }
  SECTION("its death is proven") {
    host.gone = true;
    CHECK(answer_vote(voter, {Epoch{2}, false, false}, host, kNow).granted);
  }
}

TEST_CASE("a voter vouches only while it misses the host itself, and says so later",
          "[membership]") {
  auto voter = voter_in(1, 1);
  Header const asker{"job", Generation{1}, Epoch{1}, {}, Incarnation{5}, 0};
  Ask const ask{7, RoundNumber{1}, Epoch{1}};
  CHECK_FALSE(answer_ask(voter, asker, ask, {1s, true, 2s, false, false}, kNow).granted);
  CHECK(answer_ask(voter, asker, ask, kMissed, kNow) == Answer{7, true});
  auto stranger = asker;
  stranger.epoch = Epoch{2};
  CHECK_FALSE(answer_ask(voter, stranger, ask, kMissed, kNow).granted);
  auto const answer = answer_prepare(voter, {record(1, 2), {}}, kNow + 1s);
  REQUIRE(std::holds_alternative<Prepared>(answer));
  CHECK(std::get<Prepared>(answer).vouches == std::vector<Vouch>{{Incarnation{5}, 1'000'000'000}});
  CHECK(vouches(voter, kNow + 200s, 120s).empty());
}

TEST_CASE("a voter vouches for nobody who does not hold the newest record that it has prepared",
          "[membership]") {
  auto voter = voter_in(1, 1);
  Header const asker{"job", Generation{1}, Epoch{1}, {}, Incarnation{5}, 0};
  REQUIRE(std::holds_alternative<Prepared>(answer_prepare(voter, {record(1, 2), {}}, kNow)));
  CHECK_FALSE(answer_ask(voter, asker, {7, RoundNumber{1}, Epoch{1}}, kMissed, kNow).granted);
  CHECK(vouches(voter, kNow, 120s).empty());
  CHECK(answer_ask(voter, asker, {7, RoundNumber{2}, Epoch{1}}, kMissed, kNow).granted);
  CHECK(answer_ask(voter, asker, {7, RoundNumber{3}, Epoch{1}}, kMissed, kNow).granted);
}

TEST_CASE("a vote carries what the successor must know", "[membership]") {
  auto voter = voter_in(1, 1);
  voter.vouched[Incarnation{5}] = kNow - 2s;
  voter.gone.insert(Incarnation{3});
  auto const reply = answer_vote(voter, {Epoch{2}, false, false}, kMissed, kNow);
  CHECK(Duration{reply.host_age_ns} == 6s);
  CHECK(reply.vouches == std::vector<Vouch>{{Incarnation{5}, 2'000'000'000}});
  CHECK(reply.gone == std::vector<Incarnation>{Incarnation{3}});
  CHECK(reply.committed == record(1, 1));
}
