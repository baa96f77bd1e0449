// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/error.hpp"

#include <cerrno>
#include <system_error>

namespace muster {

std::string_view name_of(Errc code) {
  switch (code) {
    case Errc::bad_input:
      return "bad_input";
    case Errc::not_found:
      return "not_found";
    case Errc::permission:
      return "permission";
    case Errc::address_in_use:
      return "address_in_use";
    case Errc::unreachable:
      return "unreachable";
    case Errc::timeout:
      return "timeout";
    case Errc::canceled:
      return "canceled";
    case Errc::closed:
      return "closed";
    case Errc::protocol:
      return "protocol";
    case Errc::limit:
      return "limit";
    case Errc::refused:
      return "refused";
    case Errc::rendezvous_timeout:
      return "rendezvous_timeout";
    case Errc::below_min:
      return "below_min";
    case Errc::budget_spent:
      return "budget_spent";
    case Errc::no_progress:
      return "no_progress";
    case Errc::lost_quorum:
      return "lost_quorum";
    case Errc::fenced:
      return "fenced";
    case Errc::peer_lost:
      return "peer_lost";
    case Errc::non_finite:
      return "non_finite";
    case Errc::mismatch:
      return "mismatch";
    case Errc::corrupt:
      return "corrupt";
    case Errc::unsupported:
      return "unsupported";
    case Errc::system:
      return "system";
    case Errc::internal:
      return "internal";
  }
  return "unknown";
}

int exit_code_of(Errc code) {
  switch (code) {
    case Errc::rendezvous_timeout:
      return 80;
    case Errc::below_min:
      return 81;
    case Errc::budget_spent:
      return 82;
    case Errc::lost_quorum:
      return 83;
    case Errc::refused:
      return 84;
    case Errc::no_progress:
      return 87;
    case Errc::peer_lost:
      return 89;
    case Errc::fenced:
      return 90;
    case Errc::internal:
      return 95;
    case Errc::bad_input:
    case Errc::not_found:
    case Errc::permission:
    case Errc::address_in_use:
    case Errc::unreachable:
    case Errc::timeout:
    case Errc::canceled:
    case Errc::closed:
    case Errc::protocol:
    case Errc::limit:
    case Errc::non_finite:
    case Errc::mismatch:
    case Errc::corrupt:
    case Errc::unsupported:
    case Errc::system:
      return 1;
  }
  return 1;
}

std::string to_string(Error const& error) {
  return error.hint.empty() ? error.what : error.what + " (" + error.hint + ")";
}

Error from_errno(int error_number, std::string_view doing) {
  auto const code = [&] {
    switch (error_number) {
      case EACCES:
      case EPERM:
        return Errc::permission;
      case ENOENT:
        return Errc::not_found;
      case EADDRINUSE:
        return Errc::address_in_use;
      case ECONNREFUSED:
      case EHOSTUNREACH:
      case ENETUNREACH:
        return Errc::unreachable;
      case ETIMEDOUT:
        return Errc::timeout;
      case ECANCELED:
        return Errc::canceled;
      case ECONNRESET:
      case EPIPE:
        return Errc::closed;
      default:
        return Errc::system;
    }
  }();
  bool const no_descriptor = error_number == EMFILE || error_number == ENFILE;
  return Error{code, std::string(doing) + ": " + std::generic_category().message(error_number),
               no_descriptor ? "raise the limit of open files (ulimit -n)" : ""};
}

}  // namespace muster
