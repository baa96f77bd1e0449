// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bench/round_agents.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/base/overload.hpp"
#include "rendezvous/bench/socket_traffic.hpp"

#include <utility>

namespace muster::bench {

using namespace membership;

struct RoundAgents::Agent {
  explicit Agent(net::asio::io_context& io) : socket(io), timer(io) {}

  MemberState state;
  net::tcp::socket socket;  // until it is connected
  net::ControlConnection::Ptr connection;
  net::asio::steady_timer timer;
  TimePoint wake_at = TimePoint::max();   // as the core wants it
  TimePoint timer_at = TimePoint::max();  // never later
  std::uint32_t round_of = 0;             // nodes in the last round whose workers were started
  int descriptor = -1;                    // of the connection's socket, while that is open
  std::uint64_t bytes = 0;                // over it, when last looked at
};

namespace {

JobSettings settings_of(std::uint32_t count) {
  JobSettings job;
  job.max_nodes = count;
  job.min_nodes = count > 1 ? count - 1 : 1;
  job.quiet = std::chrono::seconds{300};  // all are to come
  return job;
}

}  // namespace

RoundAgents::RoundAgents(net::asio::io_context& io, std::uint16_t port, std::uint32_t count)
    : io_(io), port_(port) {
  for (std::uint32_t i = 0; i < count; ++i) {
    auto agent = std::make_unique<Agent>(io);
    auto& state = agent->state;
    state.facts.incarnation = Incarnation{i + std::uint64_t{1}};
    state.facts.host = "node" + std::to_string(i);
    state.facts.local_world_size = 8;
    state.job = settings_of(count);
    state.run_id = "round-bench-" + std::to_string(count);
    state.backend = "c10d";
    agents_.push_back(std::move(agent));
  }
}

RoundAgents::~RoundAgents() {
  for (auto const& agent : agents_)
    if (agent->connection) agent->connection->close();
}

Result<std::chrono::duration<double>> RoundAgents::meet(std::chrono::seconds patience) {
  begun_ = std::chrono::steady_clock::now();
  for (auto const& agent : agents_) {
    for (auto const& effect : member_start(agent->state, now())) perform(*agent, effect);
    connect(*agent);
  }
  return run_until_all_hold(static_cast<std::uint32_t>(agents_.size()), patience);
}

Result<void> RoundAgents::rest() {
  io_.restart();
  io_.run_for(2 * agents_.front()->state.job.lease_every);
  return problem_ ? Result<void>(*problem_) : ok();
}

Result<std::chrono::duration<double>> RoundAgents::lose_one(std::chrono::seconds patience) {
  auto& victim = *agents_.back();
  begun_ = std::chrono::steady_clock::now();
  auto header = header_of(victim.state);
  net::ControlConnection::send(victim.connection,
                               {header, LastWord{victim.state.facts.incarnation}});
  net::ControlConnection::finish(victim.connection);
  victim.state.phase = MemberPhase::over;
  return run_until_all_hold(static_cast<std::uint32_t>(agents_.size()) - 1, patience);
}

Result<std::chrono::duration<double>> RoundAgents::run_until_all_hold(
    std::uint32_t nodes, std::chrono::seconds patience) {
  nodes_wanted_ = nodes;
  holding_ = 0;
  io_.restart();
  io_.run_for(patience);
  if (problem_) return *problem_;
  if (holding_ < nodes)
    return Error{Errc::timeout,
                 std::to_string(holding_) + " of " + std::to_string(nodes) +
                     " agents hold the round after " + std::to_string(patience.count()) + " s",
                 ""};
  return std::chrono::duration<double>(held_ - begun_);
}

Traffic RoundAgents::traffic() {
  std::uint64_t bytes = 0;
  for (auto const& agent : agents_) {
    if (agent->connection && agent->connection->is_open())
      agent->bytes = bytes_over(agent->descriptor);
    bytes += agent->bytes;
  }
  auto const count = static_cast<double>(agents_.size());
  Traffic traffic{static_cast<double>(messages_) / count,
                  static_cast<double>(bytes - bytes_before_) / count};
  messages_ = 0;
  bytes_before_ = bytes;
  return traffic;
}

void RoundAgents::connect(Agent& agent) {
  auto const where = net::tcp::endpoint(net::asio::ip::address_v4::loopback(), port_);
  agent.socket.async_connect(where, [this, &agent](net::error_code const& ec) {
    if (ec) {
      problem_ = net::from_asio(ec, "connect to the daemon");
      return io_.stop();
    }
    agent.descriptor = agent.socket.native_handle();
    agent.connection =
        std::make_shared<net::ControlConnection>(std::move(agent.socket), agent.state.facts.host);
    net::ControlConnection::Callbacks callbacks;
    callbacks.on_greeted = [this, &agent] { feed(agent, member::Connected{}); };
    callbacks.on_letter = [this, &agent](control::Letter letter) {
      ++messages_;
      feed(agent, member::Heard{std::move(letter.header), std::move(letter.message)});
    };
    callbacks.on_end = [this, &agent](Error const& error) {
      if (agent.state.phase == MemberPhase::over) return;
      problem_ = error;
      io_.stop();
    };
    net::ControlConnection::start(agent.connection, {}, std::move(callbacks));
  });
}

void RoundAgents::feed(Agent& agent, member::Event const& event) {
  for (auto const& effect : member_step(agent.state, event, now())) perform(agent, effect);
}

void RoundAgents::perform(Agent& agent, member::Effect const& effect) {
  auto const later = [this, &agent](member::Event event) {
    net::asio::post(io_, [this, &agent, event = std::move(event)] { feed(agent, event); });
  };
  std::visit(
      Overload{
          [&](member::Say const& e) {
            ++messages_;
            net::ControlConnection::send(agent.connection, {header_of(agent.state), e.message});
          },
          [&](member::OpenStoreNow const& e) {
            later(member::StoreIsOpen{{e.wish.round, 29500, {}}});
          },
          [&](member::ProbePeers const& e) {
            later(member::PeersProbed{{e.probe.round, e.probe.attempt, {}}});
          },
          [&](member::StartWorkers const& e) { start_workers(agent, e.commit); },
          [&](member::StopWorkers const& e) {
            later(member::WorkersStopped{e.round, 0});
          },
          [&](member::GiveUp const& e) {
            problem_ = e.error;
            io_.stop();
          },
          [&](member::WakeAt const& e) {
            agent.wake_at = e.at;
            set_timer(agent);
          },
          [](auto const&) {}},  // no guardian, no voters to call, nothing to tell
      effect);
}

// A timer that goes off too early is set again then: most events put the wake-up off.
void RoundAgents::set_timer(Agent& agent) {
  if (agent.wake_at >= agent.timer_at) return;
  agent.timer_at = agent.wake_at;
  agent.timer.expires_after(Deadline{agent.wake_at}.left(now()));
  agent.timer.async_wait([this, &agent](net::error_code const& ec) {
    if (ec) return;
    agent.timer_at = TimePoint::max();
    agent.wake_at > now() ? set_timer(agent) : feed(agent, member::Tick{});
  });
}

void RoundAgents::start_workers(Agent& agent, Commit const& commit) {
  auto const before = std::exchange(agent.round_of, commit.record.nodes);
  if (commit.record.nodes != nodes_wanted_ || before == nodes_wanted_) return;
  if (++holding_ < nodes_wanted_) return;
  held_ = std::chrono::steady_clock::now();
  io_.stop();
}

}  // namespace muster::bench
