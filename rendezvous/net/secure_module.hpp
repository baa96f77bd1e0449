// SPDX-License-Identifier: Apache-2.0
#pragma once
// libmuster_secure.so, opened when it is first needed (secure/secure_api.hpp says why it is a
// module). It stays open until the process ends.

#include "rendezvous/base/result.hpp"
#include "rendezvous/control/mac.hpp"

#include <string>
#include <vector>

namespace muster::secure {
struct Api;
}

namespace muster::net {

class SecureModule {
 public:
  // Beside this program, or in the lib folder of where it is installed. Never by a search path that
  // the environment names. Errc::unsupported where there is none.
  static Result<SecureModule> find();
  static Result<SecureModule> open(std::string const& path);

  control::Mac mac() const;
  // Bytes that nobody can guess.
  Result<std::string> random(std::size_t count) const;
  secure::Api const& api() const { return *api_; }

 private:
  explicit SecureModule(secure::Api const* api) : api_(api) {}
  secure::Api const* api_;
};

// Where find() looks, for a program in `folder`.
std::vector<std::string> module_places(std::string const& folder);

}  // namespace muster::net
