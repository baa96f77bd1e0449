// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the host of a job asks its shell for, and the reason that goes with it.

#include "rendezvous/membership/explain.hpp"
#include "rendezvous/membership/message.hpp"

#include <optional>
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
  // The job is over and every member knows, or had its time; or this host has handed it over or was
  // overruled: it may go.
  bool finished = false;
  std::optional<HostIs> successor;  // who hosts instead, if this host knows
  std::optional<Outcome> outcome;   // what the job came to, if it is over for everybody
  Why why;
};

}  // namespace muster::membership
