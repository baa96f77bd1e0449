// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/hub.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"

namespace muster::net {

Hub::Hub(ServerOptions given)
    : options(std::move(given)), lobby(options.bounds.lobby), budget(options.bounds.requests) {
  if (options.allow) members.emplace(*options.allow);
}

void Hub::complain(Complaint kind, tcp::endpoint const& peer, std::string_view why) {
  auto const text = "store " + name + ": closed " + to_text(peer) + ": " + std::string(why);
  auto const address = plain_address(peer.address()).to_string();
  if (!complaints_.shows(static_cast<unsigned>(kind), address, now())) {
    unsaid_ = true;
    return log::debug(text);
  }
  log::warning(text + " (further ones are only counted)");
}

void Hub::sum_up_complaints() {
  if (std::exchange(unsaid_, false))
    log::info("store " + name + ": connections that it has closed: " + refusals_text(counters));
}

void Hub::forget(ClientId id) {
  engine->leave(id);
  sessions.erase(id.value);
  lobby.leave(id.value);
  budget.release(id.value);
  resume_readers();
  if (draining && sessions.empty() && on_empty) std::exchange(on_empty, nullptr)();
}

std::shared_ptr<Session> Hub::find(ClientId id) const {
  auto const found = sessions.find(id.value);
  return found == sessions.end() ? nullptr : found->second;
}

void Hub::resume_readers() {
  if (budget.waiting() == 0) return;
  for (auto const id : budget.resumed(now()))
    if (auto const session = find(ClientId{id})) Session::resume(session);
}

}  // namespace muster::net
