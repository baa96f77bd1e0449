// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two sides of a control connection with what each asks for, and what became of them.

#include "rendezvous/net/security.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/net/control_pair.hpp"

#include <vector>

namespace muster::net {

inline std::string const kToken = "0123456789abcdef", kOtherToken = "fedcba9876543210";

// MUSTER_SECURE_MODULE is given by the CMakeLists.txt of the folder.
inline SecureModule the_module() {
  auto module = SecureModule::open(MUSTER_SECURE_MODULE);
  if (!module) FAIL(to_string(module.error()));
  return *module;
}

inline Security::Ptr secured(SecurityOptions const& options) {
  auto made = Security::make(options, the_module());
  if (!made) FAIL(to_string(made.error()));
  return *made;
}

inline Security::Ptr with_token(std::string token = kToken) {
  return secured({std::move(token), std::nullopt});
}

// Made once for all tests of the program.
inline std::string const& certificates() {
  static test::TempFolder const folder;
  static std::string const path = [] {
    REQUIRE(test::make_certificates(folder.path()));
    return folder.path();
  }();
  return path;
}

inline TlsFiles tls_files(std::string const& who = "node", std::string const& authority = "ca") {
  auto const& folder = certificates();
  return {folder + "/" + who + ".pem", folder + "/" + who + ".key",
          folder + "/" + authority + ".pem"};
}

inline Security::Ptr with_tls(std::string const& who = "node", std::string const& authority = "ca",
                              std::optional<std::string> token = {}) {
  return secured({std::move(token), tls_files(who, authority)});
}

struct Side {
  ControlConnection::Ptr connection;
  bool greeted = false;
  std::vector<control::Letter> letters;
  std::optional<Error> end;

  void start(tcp::socket socket, control::Role role, Security::Ptr security,
             std::string const& bytes = {}) {
    auto const caller = role == control::Role::caller;
    ControlSide side(caller ? "alice" : "bob");
    side.role = role;
    if (caller) side.run_id = "job";
    side.security = std::move(security);
    connection = std::make_shared<ControlConnection>(std::move(socket), std::move(side));
    ControlConnection::Callbacks callbacks;
    callbacks.on_greeted = [this] { greeted = true; };
    callbacks.on_letter = [this](control::Letter letter) { letters.push_back(std::move(letter)); };
    callbacks.on_end = [this](Error const& error) { end = error; };
    ControlConnection::start(connection, bytes, std::move(callbacks));
  }
  control::Fault fault() const { return connection->fault(); }
  ~Side() {
    if (connection) connection->close();
  }
};

struct Conversation {
  asio::io_context io{1};
  Side caller, host;

  ~Conversation() {
    for (auto* side : {&caller, &host})
      if (side->connection) side->connection->close();
    io.restart();
    io.poll();
  }
  void begin(Security::Ptr callers, Security::Ptr hosts) {
    auto [client, server] = socket_pair(io);
    caller.start(std::move(client), control::Role::caller, std::move(callers));
    host.start(std::move(server), control::Role::host, std::move(hosts));
  }
  bool until_greeted() {
    return run_until(io, [this] { return caller.greeted && host.greeted; });
  }
  // Both have ended, each knowing why.
  bool until_ended() {
    return run_until(io, [this] { return caller.end && host.end; });
  }
};

}  // namespace muster::net
