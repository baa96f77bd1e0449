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

TEST_CASE("a prepared record is kept and the newest one wins", "[membership]") {
  Voter voter;
  CHECK(std::holds_alternative<Prepared>(answer_prepare(voter, {record(1, 2)})));
  CHECK(std::holds_alternative<Prepared>(answer_prepare(voter, {record(1, 1)})));
  CHECK(voter.prepared->round == RoundNumber{2});
  CHECK_FALSE(voter.committed);
}

TEST_CASE("an older reign is answered deposed with the present one", "[membership]") {
  Voter voter;
  (void)answer_prepare(voter, {record(3, 5)});
  auto const answer = answer_prepare(voter, {record(2, 6)});
  REQUIRE(std::holds_alternative<Deposed>(answer));
  CHECK(std::get<Deposed>(answer).epoch == Epoch{3});
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
  Voter voter;
  (void)answer_prepare(voter, {record(2, 4)});
  CHECK_FALSE(answer_vote(voter, {Epoch{2}}).granted);
  auto const reply = answer_vote(voter, {Epoch{3}});
  CHECK(reply.granted);
  CHECK(reply.highest == record(2, 4));  // prepared ones included
  CHECK_FALSE(answer_vote(voter, {Epoch{3}}).granted);
  CHECK(std::holds_alternative<Deposed>(answer_prepare(voter, {record(2, 5)})));
  CHECK(answer_vote(voter, {Epoch{4}}).granted);
}
