// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/round_keys.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::torchrun;

TEST_CASE("keys are those of torchrun's prefix store", "[torchrun]") {
  RoundKeys const keys("job", 3);
  CHECK(state_key("job") == "torch.rendezvous.job");
  CHECK(keys.master_addr == "torch.rendezvous.job.3/MASTER_ADDR");
  CHECK(keys.role_info(0) == "torch.rendezvous.job.3/torchelastic/role_info/0");
  CHECK(keys.assigned_ranks(12) == "torch.rendezvous.job.3/torchelastic/assigned_ranks/12");
  CHECK(keys.last_member == "torch.rendezvous.job.3/torchelastic/agent/terminal_state/last_member");
}

TEST_CASE("agents of several sizes and roles get consecutive ranks in each", "[torchrun]") {
  auto const ranks = assign_ranks({{"trainer", 4}, {"reader", 1}, {"trainer", 2}, {"reader", 3}});
  CHECK(ranks ==
        std::vector<AssignedRanks>{{0, 10, 0, 6}, {4, 10, 0, 4}, {5, 10, 4, 6}, {7, 10, 1, 4}});
}

TEST_CASE("torchrun's texts are read, and ours are of its form", "[torchrun]") {
  auto const info =
      read_role_info(R"({"role": "default", "rank": 1, "local_world_size": 8, "new": null})");
  REQUIRE(info);
  CHECK(*info == RoleInfo{"default", 8});
  CHECK(*read_role_info(write_role_info({"d\xc3\xa9j\xc3\xa0 \"x\"", 2}, 7)) ==
        RoleInfo{"d\xc3\xa9j\xc3\xa0 \"x\"", 2});
  auto const ranks = read_assigned_ranks("[4, 10, 0, 10]");
  REQUIRE(ranks);
  CHECK(*ranks == AssignedRanks{4, 10, 0, 10});
  CHECK(*read_assigned_ranks(write_assigned_ranks({4, 10, 1, 5})) == AssignedRanks{4, 10, 1, 5});
}

TEST_CASE("how it ended is told among muster's agents, whole or without its reports",
          "[torchrun]") {
  CHECK(end_note_key("job") == "torch.rendezvous.job/muster/end");
  EndNote const note{7, "a worker failed on host \xff", {"{\"rank\": 1}", ""}};
  auto const read = read_end_note(write_end_note(note));
  REQUIRE(read);
  CHECK(read->exit_code == 7);
  CHECK(read->reports == note.reports);
  auto const large = read_end_note(write_end_note({7, "why", {std::string(2'000'000, 'x')}}));
  CHECK(large == EndNote{7, "why", {}});
  for (auto const* text : {"", "[]", "{}", R"({"exit_code": 256, "why": "", "reports": []})",
                           R"({"exit_code": 1, "why": "", "reports": [1]})"})
    CHECK_FALSE(read_end_note(text));
}

TEST_CASE("texts of another form are refused", "[torchrun]") {
  for (auto const* text :
       {"", "[]", "{}", R"({"role": 1, "local_world_size": 2})",
        R"({"role": "r", "local_world_size": -2})",
        R"({"role": "r", "local_world_size": 99999999999})", "{\"role\": \"r\""}) {
    INFO(text);
    REQUIRE_FALSE(read_role_info(text));
    CHECK(read_role_info(text).error().code == Errc::protocol);
  }
  for (auto const* text : {"", "{}", "[1, 2, 3]", "[1, 2, 3, 4, 5]", "[1, 2, 3, -4]",
                           "[1, 2, 3, 4.5]", "[1, 2, 3, \"4\"]"}) {
    INFO(text);
    REQUIRE_FALSE(read_assigned_ranks(text));
  }
  CHECK_FALSE(read_role_info(std::string(10'000, '[')));
}
