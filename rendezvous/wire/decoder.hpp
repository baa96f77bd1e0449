// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes to requests. A decoder holds no bytes: it is shown the unread input, which begins at the
// same request until that is complete, and remembers how far it has looked, so that input in many
// small pieces costs no more than in one. It allocates nothing; limits.hpp bounds what it accepts,
// and a length is judged before its bytes arrive.

#include "rendezvous/base/result.hpp"
#include "rendezvous/wire/item_scan.hpp"
#include "rendezvous/wire/message.hpp"

#include <optional>

namespace muster::wire {

// A message and how many bytes of the input belong to it.
template <class T>
struct Decoded {
  T message;
  std::size_t consumed;
};

class RequestDecoder {
 public:
  // The request at the beginning of `input`, nothing while it is incomplete, or an error after
  // which the connection must be closed.
  Result<std::optional<Decoded<Request>>> next(std::string_view input);

 private:
  Result<std::optional<Decoded<Request>>> list(Opcode opcode, std::string_view input);

  ItemScan scan_;
  bool in_list_ = false;
};

}  // namespace muster::wire
