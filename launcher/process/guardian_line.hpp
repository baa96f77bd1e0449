// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agent's end of its channel to the guardian: says what the guardian must know, and hears of
// signals and of the guardian's death. Nothing here waits: a guardian that is stopped, or gone, is
// told nothing. Control thread only.

#include "launcher/process/channel.hpp"
#include "launcher/process/last_word.hpp"
#include "rendezvous/base/clock.hpp"
#include "rendezvous/net/asio.hpp"

#include <functional>
#include <string>

namespace muster::launch {

// How long a fenced agent may go on sleeping.
inline constexpr Duration kMercy = std::chrono::seconds{60};

class GuardianLine {
 public:
  struct Callbacks {
    std::function<void(int signal, int sender_pid)> on_signal;
    // While we did not run it ended our workers. Comes before they can be seen to have ended,
    // where read_now() is called first.
    std::function<void()> on_fenced;
    std::function<void()> on_gone;
  };

  // `channel`: AgentSeat's. It is closed with the line.
  GuardianLine(net::asio::io_context& io, int channel);

  void listen(Callbacks callbacks);
  // From now on the agent acts on what it hears: until then whoever ends the job ends it by
  // SIGKILL, as does the guardian's death.
  void begin();
  // What the guardian has said up to now, which else comes with the next turn of the loop.
  void read_now();

  // The agent runs. Zero: it need not say so again, else it must within `patience`, or its workers
  // are ended; `mercy` later it is ended, too.
  void alive(Duration patience, Duration mercy = kMercy);
  // The workers' cgroup, before anybody is in it.
  void leaf(std::string const& path);
  // Stop yourself: the workers are stopped (Ctrl-Z). False: there is no guardian that could.
  bool suspend();
  // The job knows how this node ended: there is no last word.
  void finished();
  LastWord& last_word() { return last_word_; }

 private:
  void listen();
  bool tell(ChannelPacket const& packet);

  net::asio::posix::stream_descriptor channel_;
  bool gone_ = false;
  Callbacks callbacks_;
  LastWord last_word_;
};

}  // namespace muster::launch
