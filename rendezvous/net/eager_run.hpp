// SPDX-License-Identifier: Apache-2.0
#pragma once
// io_context::run() for a server's own thread, which looks for the next event a little before it
// sleeps: a client that asks again at once finds the server awake, and is spared the time that
// waking a sleeping core takes (half of a round trip on loopback). It does so only while that pays:
// after a sleep that proved short, and until one such look found nothing.

#include "rendezvous/net/asio.hpp"

namespace muster::net {

// Returns when the context is stopped or out of work.
void run_eagerly(asio::io_context& io);

}  // namespace muster::net
