// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys under which torchrun's agents meet and agree on a round (user's keys: the store client
// adds the wire's slash), and what lies there besides the state. Pure.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::torchrun {

inline constexpr std::string_view kStateKeyPrefix = "torch.rendezvous.";

std::string state_key(std::string const& run_id);

struct RoundKeys {
  RoundKeys(std::string const& run_id, std::int64_t round);

  std::string role_info(std::size_t group_rank) const;
  std::string assigned_ranks(std::size_t group_rank) const;

  // Where the workers' store is: written by rank 0, but only when it opened it.
  std::string master_addr, master_port;
  // The exit barrier: a count, and a key that the last to come sets.
  std::string num_members, last_member;
  // Who holds the workers' store: a note among muster's agents, of which torchrun's know nothing.
  std::string store_owner;

 private:
  std::string prefix_;
};

// What each agent says of itself.
struct RoleInfo {
  std::string role;
  std::uint32_t local_world_size = 1;

  friend bool operator==(RoleInfo const&, RoleInfo const&) = default;
};
std::string write_role_info(RoleInfo const& info, std::uint32_t group_rank);
Result<RoleInfo> read_role_info(std::string const& text);

// What rank 0 makes of it for each of them.
struct AssignedRanks {
  std::uint32_t rank_base = 0, world_size = 0;
  std::uint32_t role_rank_base = 0, role_world_size = 0;

  friend bool operator==(AssignedRanks const&, AssignedRanks const&) = default;
};
std::vector<AssignedRanks> assign_ranks(std::vector<RoleInfo> const& by_group_rank);
std::string write_assigned_ranks(AssignedRanks const& ranks);
Result<AssignedRanks> read_assigned_ranks(std::string const& text);

// How a job ended, and by whose fault: a note of the muster agent that ends it for the others,
// under a key of the run. torchrun's agents neither write nor read it: they tell each other
// "closed".
struct EndNote {
  int exit_code = 1;
  std::string why;
  std::vector<std::string> reports;

  friend bool operator==(EndNote const&, EndNote const&) = default;
};
std::string end_note_key(std::string const& run_id);
std::string write_end_note(EndNote const& note);
std::optional<EndNote> read_end_note(std::string const& text);

}  // namespace muster::torchrun
