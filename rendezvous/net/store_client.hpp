// SPDX-License-Identifier: Apache-2.0
#pragma once
// An asynchronous TCPStore client for programs with an io_context, used from its thread. Calls may
// overlap: quick requests are pipelined on the one connection. A request that may wait (wait, get,
// multi_get, queue_pop, barrier) has the connection to itself while it waits, since its reply could
// not be told from others; who wants to wait and to work at once opens two clients. Keys are the
// user's: the wire's "/" is added here. Every call ends by its deadline. A quick request that times
// out closes the connection; a wait that times out is cancelled and names the missing keys.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace muster::net {

class StoreClient {
 public:
  template <class T>
  using Task = asio::awaitable<Result<T>>;

  explicit StoreClient(asio::io_context& io);
  ~StoreClient();  // as close()
  StoreClient(StoreClient const&) = delete;
  StoreClient& operator=(StoreClient const&) = delete;

  // Once. One attempt at each address of a numeric host or a name (whose lookup takes a thread of
  // Asio's).
  Task<void> connect(std::string host, std::uint16_t port, Deadline deadline);
  // Pending calls end with Errc::canceled.
  void close();
  // Of this end of the connection, numeric; empty where there is none.
  std::string local_address() const;

  Task<void> set(std::string key, std::string value, Deadline deadline);
  Task<std::string> get(std::string key, Deadline deadline);
  Task<std::int64_t> add(std::string key, std::int64_t amount, Deadline deadline);
  Task<std::string> compare_set(std::string key, std::string expected, std::string desired,
                                Deadline deadline);
  Task<bool> check(std::vector<std::string> keys, Deadline deadline);
  Task<void> wait(std::vector<std::string> keys, Deadline deadline);
  Task<std::vector<std::string>> multi_get(std::vector<std::string> keys, Deadline deadline);
  Task<void> multi_set(std::vector<std::string> keys, std::vector<std::string> values,
                       Deadline deadline);
  Task<void> append(std::string key, std::string value, Deadline deadline);
  Task<bool> delete_key(std::string key, Deadline deadline);
  Task<std::int64_t> num_keys(Deadline deadline);
  Task<std::vector<std::string>> list_keys(Deadline deadline);
  Task<void> queue_push(std::string key, std::string value, Deadline deadline);
  Task<std::string> queue_pop(std::string key, Deadline deadline);
  Task<std::int64_t> queue_len(std::string key, Deadline deadline);
  Task<void> barrier(std::string key, std::int64_t world_size, Deadline deadline);

 private:
  std::shared_ptr<class StoreConnection> connection_;
};

}  // namespace muster::net
