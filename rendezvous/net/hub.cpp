// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/hub.hpp"

#include "rendezvous/base/log.hpp"

namespace muster::net {
namespace {

// A broken client reconnects for ever; its line must not fill the disk.
constexpr std::array<unsigned, 3> kLinesShown{1, 1, 20};

}  // namespace

void Hub::complain(Complaint kind, std::string const& peer, std::string_view why) {
  auto const place = static_cast<std::size_t>(kind);
  auto const shown = ++complaints_[place];
  auto const text = "store " + name + ": closed " + peer + ": " + std::string(why);
  if (shown > kLinesShown[place]) return log::debug(text);
  log::warning(shown < kLinesShown[place] ? text : text + " (further ones are only counted)");
}

void Hub::forget(ClientId id) {
  engine->leave(id);
  sessions.erase(id.value);
  if (draining && sessions.empty() && on_empty) std::exchange(on_empty, nullptr)();
}

std::shared_ptr<Session> Hub::find(ClientId id) const {
  auto const found = sessions.find(id.value);
  return found == sessions.end() ? nullptr : found->second;
}

}  // namespace muster::net
