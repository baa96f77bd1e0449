// SPDX-License-Identifier: Apache-2.0
#pragma once
// A world of agents around one rendezvous host, under virtual time: the real cores (host_step,
// member_step), made-up network, clocks and workers. One seed, one history. Connections break and
// are called again, messages are late, overtake each other, are doubled or lost; nodes pause and
// crash. After every event the invariants are checked; `violations` says which broke, `story` what
// had happened.

#include "rendezvous/base/random.hpp"
#include "rendezvous/membership/host_step.hpp"
#include "rendezvous/membership/member_step.hpp"

#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

namespace muster::sim {

// What this history may contain; made from the seed by random_plan or by hand.
struct Plan {
  std::uint32_t nodes = 3;
  std::uint32_t min_nodes = 3, max_nodes = 3, max_restarts = 2;
  bool given_ranks = false, store_at_endpoint = false;
  double failure = 0.3;          // of a round, somewhere
  double loss = 0, twice = 0;    // of a message
  double breaks_per_second = 0;  // of each connection
  Duration most_delay = std::chrono::milliseconds{20};
  Duration spread = std::chrono::seconds{2};  // of the agents' starts
  std::optional<std::uint32_t> crash;         // this node (0 hosts), at crash_at
  Duration crash_at = std::chrono::seconds{5};
  std::optional<std::uint32_t> pause;  // this node's agent (0: the host too)
  Duration pause_at = std::chrono::seconds{4}, pause_for = std::chrono::seconds{2};
  Duration faults_end = std::chrono::seconds{20};
};
Plan random_plan(Random& random);

struct Node {
  membership::MemberState state;
  Duration clock_offset{};
  double clock_drift = 0;
  bool alive = true, connected = false;
  std::uint64_t connection = 0;  // what is under way on an older one is lost
  RoundNumber workers;           // whose workers are alive, or 0
  RoundNumber last_done;
  TimePoint paused_until, wake = TimePoint::max(), ended_at;
  std::optional<membership::Outcome> outcome;
  std::optional<Error> error;
  bool ended() const { return outcome || error; }
};

class World {
 public:
  World(std::uint64_t seed, Plan const& plan);

  // Until everybody alive has ended, or `limit`.
  void run(Duration limit);

  std::vector<Node> nodes;
  membership::Host host;
  std::vector<std::string> violations, story;
  std::map<std::uint64_t, membership::Record> records;  // by round
  std::uint64_t events = 0;
  TimePoint now{std::chrono::seconds{1'000}};

 private:
  using Call = std::function<void()>;
  struct Due {
    TimePoint at;
    std::uint64_t number;
    Call call;
    bool operator<(Due const& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void start_node(std::uint32_t index, Duration after);
  void at(Duration after, Call call);
  void connect(std::uint32_t index);
  void break_connection(std::uint32_t index);
  void schedule_breaks(std::uint32_t index);
  void feed(std::uint32_t index, membership::member::Event const& event);
  void perform(std::uint32_t index, membership::member::Effect const& effect);
  void to_host(std::uint32_t index, membership::Message message);
  void to_node(membership::Send const& sent);
  void feed_host(membership::HostEvent const& event);
  void start_workers(std::uint32_t index, membership::Commit const& commit);
  void end_of_workers(std::uint32_t index, RoundNumber round);
  void stop_workers(std::uint32_t index, RoundNumber round, bool at_once);
  void carry(std::uint32_t index, membership::Message const& message, Call deliver);
  bool faulty() const { return now - TimePoint{std::chrono::seconds{1'000}} < plan_.faults_end; }
  bool chance(double probability) { return random_.unit() < probability; }
  Duration up_to(Duration most);
  TimePoint node_time(Node const& node) const;
  std::uint32_t index_of(Incarnation incarnation) const;
  bool host_alive() const { return nodes[0].alive && !nodes[0].ended(); }
  Duration pause_left(std::uint32_t index) const;

  void tell(std::string line);
  void violate(std::string line);
  void check_record(membership::Record const& record);
  void check_quorum(membership::Record const& record);
  void check_table();
  void check_evictions(std::map<Incarnation, membership::Member> const& before);
  void check_end();

  Plan plan_;
  Random random_;
  membership::JobSettings settings_;
  std::priority_queue<Due> queue_;
  std::uint64_t numbers_ = 0;
  TimePoint host_wake_ = TimePoint::max();
  bool host_finished_ = false;
  std::map<Incarnation, TimePoint> heard_;
  std::optional<membership::Table> last_table_;
};

}  // namespace muster::sim
