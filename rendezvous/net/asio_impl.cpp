// SPDX-License-Identifier: Apache-2.0
// Asio's bodies, compiled once.
#include "rendezvous/net/asio.hpp"

#include <boost/asio/impl/src.hpp>

#include <string>

namespace muster::net {

Error from_asio(error_code const& failure, std::string_view doing) {
  auto const text = std::string(doing) + ": " + failure.message();
  if (failure == asio::error::eof) return Error{Errc::closed, text, {}};
  if (failure == asio::error::operation_aborted) return Error{Errc::canceled, text, {}};
  if (failure.category() == boost::system::system_category())
    return from_errno(failure.value(), doing);
  return Error{Errc::unreachable, text, {}};  // name resolution
}

}  // namespace muster::net
