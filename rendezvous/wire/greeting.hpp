// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of the protocols a connection speaks, by its first bytes. Pure.

#include <string_view>

namespace muster::wire {

enum class Greeting {
  undecided,  // a prefix of one of them: read on
  store,      // 00 CE F7 85 3C
  control,    // "MUSTER"
  http,       // "GET " or "HEAD "
  tls,        // 16 03: a TLS handshake, in which control may follow
  unknown,
};

inline constexpr std::string_view kStoreGreeting{"\x00\xCE\xF7\x85\x3C", 5};
inline constexpr std::string_view kControlGreeting{"MUSTER"};
inline constexpr std::string_view kTlsHandshake{"\x16\x03"};

constexpr Greeting classify(std::string_view bytes) {
  struct Entry {
    std::string_view prefix;
    Greeting meaning;
  };
  constexpr Entry kTable[] = {{kStoreGreeting, Greeting::store},
                              {kControlGreeting, Greeting::control},
                              {kTlsHandshake, Greeting::tls},
                              {"GET ", Greeting::http},
                              {"HEAD ", Greeting::http}};
  for (auto const& [prefix, meaning] : kTable) {
    if (bytes.substr(0, prefix.size()) == prefix) return meaning;
    if (bytes.size() < prefix.size() && prefix.substr(0, bytes.size()) == bytes)
      return Greeting::undecided;
  }
  return Greeting::unknown;
}

}  // namespace muster::wire
