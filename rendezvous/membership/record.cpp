// SPDX-License-Identifier: Apache-2.0
// Names of reasons, for logs and JSON.

#include "rendezvous/membership/record.hpp"

namespace muster::membership {

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::first_round:
      return "first_round";
    case Reason::worker_failure:
      return "worker_failure";
    case Reason::member_lost:
      return "member_lost";
    case Reason::member_joined:
      return "member_joined";
    case Reason::member_left:
      return "member_left";
    case Reason::succession:
      return "succession";
    case Reason::outcome:
      return "outcome";
  }
  return "?";
}

}  // namespace muster::membership
