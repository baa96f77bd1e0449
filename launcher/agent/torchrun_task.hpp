// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coroutines over a store client, as the torchrun_* files use them. Include nowhere else.

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/net/store_client.hpp"

#include <exception>
#include <memory>
#include <utility>

namespace muster::launch {

using StoreLine = std::shared_ptr<net::StoreClient>;
template <class T>
using StoreTask = net::StoreClient::Task<T>;
using StoreJob = net::asio::awaitable<void>;

// A job says itself what came of it.
inline void start_job(net::asio::io_context& io, StoreJob job) {
  net::asio::co_spawn(io, std::move(job), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

// Connects a line unless it is connected already.
inline StoreTask<StoreLine> open_line(net::asio::io_context& io, StoreLine line, net::Place place,
                                      Deadline deadline) {
  if (line) co_return line;
  line = std::make_shared<net::StoreClient>(io);
  auto const there = co_await line->connect(place.host, place.port, deadline);
  if (!there) co_return there.error();
  co_return line;
}

}  // namespace muster::launch
