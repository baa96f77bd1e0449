// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is left to say when a job is over: the failure summary on the console, and
// TORCHELASTIC_ERROR_FILE for whoever started muster. Shell; blocks on that file, hence after the
// leases.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/logs/pump.hpp"
#include "rendezvous/base/env_view.hpp"

namespace muster::launch {

// A job that the membership has ended. Nothing is said after success.
void tell_outcome(Pump& pump, EnvView const& env, std::string const& host, Outcome const& outcome);

// An error of muster itself, into TORCHELASTIC_ERROR_FILE if that is set.
void record_error(EnvView const& env, Error const& error);

}  // namespace muster::launch
