// SPDX-License-Identifier: Apache-2.0
#pragma once
// A TCPStore client for programs without an event loop. One thread at a time. Keys are the user's:
// the wire's leading "/" is added here. Every call ends by its deadline; after a timeout in the
// middle of a reply the connection is closed and later calls say so.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

class BlockingClient {
 public:
  // Retries refused connections and unresolved names until the deadline (the server may start
  // later).
  static Result<BlockingClient> connect(std::string host, std::uint16_t port, Deadline deadline);

  BlockingClient(BlockingClient&&) noexcept;
  BlockingClient& operator=(BlockingClient&&) noexcept;
  ~BlockingClient();

  Result<void> set(std::string_view key, std::string_view value, Deadline deadline);
  // Waits until the key exists; a timeout names it.
  Result<std::string> get(std::string_view key, Deadline deadline);
  Result<std::int64_t> add(std::string_view key, std::int64_t amount, Deadline deadline);
  Result<std::string> compare_set(std::string_view key, std::string_view expected,
                                  std::string_view desired, Deadline deadline);
  Result<bool> check(std::span<std::string const> keys, Deadline deadline);
  // Waits until all exist; a timeout names those still missing.
  Result<void> wait(std::span<std::string const> keys, Deadline deadline);
  Result<std::vector<std::string>> multi_get(std::span<std::string const> keys, Deadline deadline);
  Result<void> multi_set(std::span<std::string const> keys, std::span<std::string const> values,
                         Deadline deadline);
  Result<void> append(std::string_view key, std::string_view value, Deadline deadline);
  Result<bool> delete_key(std::string_view key, Deadline deadline);
  Result<std::int64_t> num_keys(Deadline deadline);
  Result<std::vector<std::string>> list_keys(Deadline deadline);
  Result<void> queue_push(std::string_view key, std::string_view value, Deadline deadline);
  Result<std::string> queue_pop(std::string_view key,
                                Deadline deadline);  // waits until there is one
  Result<std::int64_t> queue_len(std::string_view key, Deadline deadline);
  Result<void> barrier(std::string_view key, std::int64_t world_size, Deadline deadline);

  // The local address of the connection, numeric: an address of this host that the server's host
  // can reach.
  std::string local_address() const;

 private:
  struct Body;
  explicit BlockingClient(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace muster::net
