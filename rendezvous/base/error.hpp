// SPDX-License-Identifier: Apache-2.0
#pragma once
// What went wrong, for code (Errc) and for people (what, hint). Callers branch on `code` only;
// texts may change.

#include <string>
#include <string_view>

namespace muster {

enum class Errc {
  bad_input,           // an argument, variable or file that the user gave is wrong
  not_found,           // a name, file, host or key that should exist does not
  permission,          // the system refused for lack of rights
  address_in_use,      // a port that was asked for is taken
  unreachable,         // nobody answers at an address, or the route is missing
  timeout,             // a deadline passed
  canceled,            // the caller gave up, or the owner is shutting down
  closed,              // the other side ended the connection in good order
  protocol,            // bytes that the protocol does not allow
  limit,               // a bound of limits.hpp was exceeded
  refused,             // a peer said no: contradiction, token, version, late joiner
  rendezvous_timeout,  // not enough nodes came in time
  below_min,           // fewer nodes are left than --nnodes allows
  budget_spent,        // membership changed more often than is allowed
  no_progress,         // rounds end again and again before they got anywhere
  lost_quorum,         // no majority of the last record's voters can be reached
  fenced,              // this node lost its lease and stopped its workers
  peer_lost,           // another rank is gone: a consequence, not the cause
  non_finite,          // a loss or gradient is NaN or infinite
  mismatch,            // ranks disagree about something that must be equal
  corrupt,             // a file's content contradicts its own checksum or format
  unsupported,         // understood, but not provided by this build
  system,              // a system call failed in a way that no other value names
  internal,            // a bug in muster
};

// "bad_input" and so on: stable names for logs and JSON.
std::string_view name_of(Errc code);

// muster's own exit code for an error (README, "Exit codes"). 1 where none is reserved.
int exit_code_of(Errc code);

struct Error {
  Errc code = Errc::internal;
  std::string what;  // subject, what was seen, what was expected: "node gpu-07: silent for 15.2 s,
                     // limit 15 s"
  std::string hint;  // what to do about it; may be empty

  friend bool operator==(Error const&, Error const&) = default;
};

// "what (hint)": the one-line form for the console.
std::string to_string(Error const& error);

// An Error from errno, e.g. from_errno(EADDRINUSE, "bind [::]:29500"). The code is chosen by the
// errno.
Error from_errno(int error_number, std::string_view doing);

}  // namespace muster
