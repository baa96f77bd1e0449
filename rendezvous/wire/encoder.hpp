// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests and replies to bytes, appended to one buffer. Pure; checks no limits (the decoder does).

#include "rendezvous/wire/message.hpp"

#include <span>
#include <string>

namespace muster::wire {

void encode(Request const& request, std::string& out);

// The body of an EncodedList, appended to `storage`; the list's view is good while storage does not
// change.
EncodedList encode_list(std::span<std::string const> items, std::string& storage);

}  // namespace muster::wire
