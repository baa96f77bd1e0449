// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may join. A pure judgement: contradictions and late joiners are refused with both hosts
// named.

#include "rendezvous/base/error.hpp"
#include "rendezvous/membership/host.hpp"

namespace muster::membership {

// The reason to refuse this newcomer, or nothing. Not asked for a member that calls again.
std::optional<Error> refuse_newcomer(Host const& host, Join const& join,
                                     JobSettings const& settings);

// For an endpoint that serves one job only.
Error refuse_other_job(std::string const& served, std::string const& host, std::string const& asked,
                       std::string const& asking_host);

}  // namespace muster::membership
