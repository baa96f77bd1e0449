// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the sessions of one server share. Kept alive by the server and by handlers that are still
// under way; one thread.

#include "rendezvous/net/address_list.hpp"
#include "rendezvous/net/complaints.hpp"
#include "rendezvous/net/server.hpp"
#include "rendezvous/net/session.hpp"

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::net {

// Why a connection is closed, as a kind.
enum class Complaint : unsigned {
  unknown_greeting,
  late_greeting,
  violation,
  stranger,
  store_closed,
  crowded,
  slow_request
};

inline constexpr std::string_view kStranger =
    "it is no member's address, and the workers' store is for members (--open-store opens it)";

struct Hub {
  explicit Hub(ServerOptions given);

  // Says why a connection is closed: a warning for the first of a kind and address, then only
  // counted.
  void complain(Complaint kind, tcp::endpoint const& peer, std::string_view why);
  // All of those in one line, if there were any.
  void sum_up_complaints();
  // The session is closed or handed over.
  void forget(ClientId id);
  std::shared_ptr<Session> find(ClientId id) const;
  // Memory for half requests has become free.
  void resume_readers();
  bool is_full() const { return sessions.size() - lobby.size() >= options.bounds.clients; }

  ServerOptions options;
  std::optional<AddressList> members;  // of `options.allow`
  std::string name;                    // "[::]:29400", for log lines
  std::unique_ptr<store::Engine> engine = std::make_unique<store::Engine>();  // never empty
  ServerCounters counters;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions;
  Lobby lobby;  // those that have not had a first whole request
  RequestBudget budget;
  std::function<void()> on_hold;  // a session waits for memory: somebody is to watch the clock
  std::vector<ClientId> woken;    // filled by the engine, emptied after each request
  std::vector<std::shared_ptr<Session>> owing;  // woken in this turn, to be flushed at its end
  std::vector<char> read_buffer;                // for what exceeds a session's own small buffer
  std::string watched_key;                      // of the engine, whichever it is
  std::function<void()> on_written;
  bool draining = false;
  std::function<void()> on_empty;  // while draining: the last session is gone

 private:
  Complaints complaints_;
  bool unsaid_ = false;  // there were some that were only counted
};

}  // namespace muster::net
