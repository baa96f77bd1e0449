// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes to replies, for clients: like RequestDecoder, but a reply has no type byte, so the reader
// says which request it answers. Pure; holds no bytes, allocates nothing.

#include "rendezvous/wire/decoder.hpp"

namespace muster::wire {

// What a reply carries; which parts are used depends on the request (see decode rules in README).
struct Reply {
  std::int64_t number = 0;  // a byte, PING's nonce, ADD, GETNUMKEYS, DELETE_KEY, QUEUE_*
  std::string_view value;   // GET, COMPARE_SET, QUEUE_POP when number > 0
  EncodedList list;         // MULTI_GET, LIST_KEYS
};

class ReplyDecoder {
 public:
  // `asked`: the request that is answered; `keys`: how many keys a MULTI_GET named. Requests
  // without a reply (VALIDATE, SET, APPEND, MULTI_SET, QUEUE_PUSH) are complete at once.
  Result<std::optional<Decoded<Reply>>> next(Opcode asked, std::uint64_t keys,
                                             std::string_view input);

 private:
  Result<std::optional<Decoded<Reply>>> list(std::uint64_t count, std::size_t begin,
                                             std::string_view input);

  ItemScan scan_;
  bool in_list_ = false;
};

}  // namespace muster::wire
