// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/comm/tcp_world.hpp"

#include <thread>

namespace muster::worker::cases {

EnvView environment_of(int rank, int size, std::uint16_t port) {
  EnvView environment;
  environment.set("RANK", std::to_string(rank));
  environment.set("WORLD_SIZE", std::to_string(size));
  environment.set("LOCAL_RANK", std::to_string(rank));
  environment.set("MASTER_ADDR", "127.0.0.1");
  environment.set("MASTER_PORT", std::to_string(port));
  environment.set("TORCHELASTIC_USE_AGENT_STORE", "True");
  return environment;
}

TcpWorld::TcpWorld(int size, Duration timeout) : sessions_(static_cast<std::size_t>(size)) {
  auto store = net::HostedStore::start("127.0.0.1", 0);
  if (!store) {
    why_ = to_string(store.error());
    return;
  }
  std::vector<std::string> errors(sessions_.size());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      SessionOptions options;
      options.timeout = timeout;
      auto session = Session::open(environment_of(rank, size, store->port()), options);
      auto const at = static_cast<std::size_t>(rank);
      if (session)
        sessions_[at] = std::make_shared<Session>(std::move(*session));
      else
        errors[at] = to_string(session.error());
    });
  for (auto& rank : ranks) rank.join();
  for (auto const& error : errors)
    if (!error.empty()) why_ += error + "\n";
}

Groups TcpWorld::groups() const {
  Groups groups;
  for (auto const& session : sessions_)
    if (session) groups.push_back(std::shared_ptr<ProcessGroup>(session, &session->world()));
  return groups;
}

}  // namespace muster::worker::cases
