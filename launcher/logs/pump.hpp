// SPDX-License-Identifier: Apache-2.0
#pragma once
// Drains the workers' pipes: to their log files, to the console, and into a ring of last lines. One
// thread of its own, which never writes itself: writers (writer.hpp) do, so that a worker is not
// held up by a stopped terminal for longer than kConsolePatience. What the console did not take is
// dropped by whole lines, with a line in the stream that says how much, one of muster's own when it
// begins, and one at the end with the sum. With LogStall::block nothing is dropped: a stream whose
// output is not taken is not read until it is.
//
// All functions are called from the control thread and return at once, but for finish().

#include "launcher/logs/stream_plan.hpp"
#include "launcher/logs/writer.hpp"
#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace muster::launch {

// How long the pump waits for a console (or disk) that takes nothing before it drops lines.
inline constexpr Duration kConsolePatience = std::chrono::seconds{1};

struct PumpStream {
  int local_rank = 0;
  bool is_stderr = false;
  StreamPlan plan;
  std::string prefix;
  UniqueFd read_end;
  SinkPointer file;      // plan.to_file through the pipe
  SinkPointer filtered;  // shared by the workers of an attempt; only with needles
};

// The last stderr lines by local rank.
using Tails = std::map<int, std::vector<std::string>>;

class Pump {
 public:
  explicit Pump(LogStall stall = LogStall::drop);
  ~Pump();
  Pump(Pump const&) = delete;
  Pump& operator=(Pump const&) = delete;

  // With LogStall::stop: told once, on the pump's thread, what takes nothing any more. Before
  // add().
  void on_stall(std::function<void(std::string what)> told);
  void add(std::vector<PumpStream> streams);
  // Takes what the pipes hold now, then calls `done` on the pump's thread.
  void collect_tails(std::function<void(Tails)> done);
  // The round is over: takes what the pipes still hold and closes them.
  void end_round();

  // One of muster's own lines ("\n" is added) on stderr; never dropped for lack of room.
  void say(std::string line);

  // Takes and writes everything left; the threads end. False if a console or disk took nothing for
  // `patience`.
  bool finish(Duration patience);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
  bool finished_ = false;
};

}  // namespace muster::launch
