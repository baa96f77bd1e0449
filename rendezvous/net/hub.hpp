// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the sessions of one server share. Kept alive by the server and by handlers that are still
// under way; one thread.

#include "rendezvous/net/server.hpp"
#include "rendezvous/net/session.hpp"

#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::net {

enum class Complaint { unknown_greeting, late_greeting, violation };

struct Hub {
  explicit Hub(ServerOptions given) : options(std::move(given)) {}

  // Says why a connection is closed: a warning for the first few of a kind, then only counted.
  void complain(Complaint kind, std::string const& peer, std::string_view why);
  // The session is closed or handed over.
  void forget(ClientId id);
  std::shared_ptr<Session> find(ClientId id) const;

  ServerOptions options;
  std::string name;  // "[::]:29400", for log lines
  std::unique_ptr<store::Engine> engine = std::make_unique<store::Engine>();  // never empty
  ServerCounters counters;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions;
  std::vector<ClientId> woken;                  // filled by the engine, emptied after each request
  std::vector<std::shared_ptr<Session>> owing;  // woken in this turn, to be flushed at its end
  std::vector<char> read_buffer;                // for what exceeds a session's own small buffer
  bool draining = false;
  std::function<void()> on_empty;  // while draining: the last session is gone

 private:
  std::array<unsigned, 3> complaints_{};
};

}  // namespace muster::net
