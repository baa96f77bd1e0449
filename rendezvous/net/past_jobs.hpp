// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs that ended under this host, and how: a member whose lost connection made it miss the end,
// and that calls again after its host's patience, is told, instead of waiting for nodes that are
// gone. Control thread only.

#include "rendezvous/membership/message.hpp"

#include <map>
#include <string>

namespace muster::net {

// As long as a member waits for a host that is gone, where it was not told otherwise.
inline constexpr Duration kPastFor = std::chrono::minutes{10};

struct PastJob {
  membership::Header header;  // of the host's last message
  membership::Outcome outcome;
};

class PastJobs {
 public:
  void note(PastJob job, TimePoint now);
  // Of that very life of the run id. Valid until the next call.
  PastJob const* find(std::string const& run_id, Generation generation, TimePoint now);

 private:
  struct Note {
    PastJob job;
    TimePoint until;
  };
  void forget_old(TimePoint now);

  std::map<std::string, Note> notes_;
  std::size_t report_bytes_ = 0;
};

}  // namespace muster::net
