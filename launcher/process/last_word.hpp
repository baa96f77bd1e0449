// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent's part of its last word: hands connections to the guardian together with the bytes that
// it will say on them (kept_words.hpp), and notices who hangs up. Whoever opened them has said and
// proven what is to be said and proven before; what still comes is read away. Control thread only.

#include "rendezvous/base/unique_fd.hpp"
#include "rendezvous/net/asio.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace muster::launch {

class LastWord {
 public:
  // `channel`: to the guardian, non-blocking, borrowed.
  LastWord(net::asio::io_context& io, int channel);
  // The guardian keeps what it was given: an agent that ends without `clear` has a last word.
  ~LastWord();
  LastWord(LastWord const&) = delete;
  LastWord& operator=(LastWord const&) = delete;

  // The slot was dropped then.
  void on_hung_up(std::function<void(std::size_t slot)> call);

  // Replaces what was in the slot, without a moment in which the guardian has neither. Slots below
  // kLastWordSlots, at most kLastWordBytes bytes. A guardian that does not read is told again.
  void keep(std::size_t slot, UniqueFd connection, std::string bytes);
  void drop(std::size_t slot);
  void clear();

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
