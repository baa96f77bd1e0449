// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/silence_note.hpp"

#include "rendezvous/base/log.hpp"

namespace muster::launch {

void SilenceNote::start(Look look) {
  timer_.expires_after(kNobodyAnswers);
  timer_.async_wait([look = std::move(look)](net::error_code const& ec) {
    if (ec) return;
    if (auto const endpoint = look()) log::warning(nobody_answers_line(*endpoint, kNobodyAnswers));
  });
}

}  // namespace muster::launch
