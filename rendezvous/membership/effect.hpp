// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the host of a job asks its shell for, and the reason that goes with it.

#include "rendezvous/membership/explain.hpp"
#include "rendezvous/membership/message.hpp"

#include <vector>

namespace muster::membership {

struct Send {
  Incarnation to;
  Message message;
  friend bool operator==(Send const&, Send const&) = default;
};

struct HostStep {
  std::vector<Send> sends;               // in order
  TimePoint wake_at = TimePoint::max();  // the one timer: a Tick then, unless an event comes first
  bool finished =
      false;  // the job is over and every member knows, or had its time: the host may go
  Why why;
};

}  // namespace muster::membership
