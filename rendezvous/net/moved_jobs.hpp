// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs that a daemon hosted, or is asked for, and that another host has: known as long as that host
// says so. Control thread only.

#include "rendezvous/membership/message.hpp"

#include <map>
#include <optional>
#include <string>

namespace muster::net {

// A host calls the endpoint each second; one that did not for so long is not believed any more.
inline constexpr Duration kMovedFor = std::chrono::seconds{10};

class MovedJobs {
 public:
  void note(std::string const& run_id, membership::HostIs const& to, TimePoint now);
  std::optional<membership::HostIs> find(std::string const& run_id, TimePoint now);

 private:
  struct Note {
    membership::HostIs to;
    TimePoint until;
  };
  std::map<std::string, Note> notes_;
};

}  // namespace muster::net
