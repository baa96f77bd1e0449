// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where each stream of each worker goes, from --redirects, --tee, --local-ranks-filter and the
// duplicate filters. Pure.

#include "launcher/cli/options.hpp"

#include <string>
#include <vector>

namespace muster::launch {

enum class StreamEnd {
  inherited,  // muster's own descriptor: a world of one, nothing between worker and console
  file,       // the log file itself: nothing between worker and disk
  pipe,       // through the pump: console, tee, or only the tail of stderr
  null,       // /dev/null: a rank that --local-ranks-filter leaves out
};

struct StreamPlan {
  StreamEnd end = StreamEnd::pipe;
  bool to_file = false;     // end == file, or a pipe that the pump also writes to the file
  bool to_console = false;  // end == pipe only
  bool prefixed = false;
  bool keeps_tail = false;           // stderr: last lines for the failure report
  std::vector<std::string> needles;  // lines with one of these also go to the filtered file

  friend bool operator==(StreamPlan const&, StreamPlan const&) = default;
};

struct ConsoleFacts {
  bool world_of_one = false;        // one worker in the whole job
  bool stderr_is_terminal = false;  // then a lone worker keeps it, colours and bars included
};

StreamPlan plan_stream(RunOptions const& options, ConsoleFacts facts, int local_rank,
                       bool is_stderr);

}  // namespace muster::launch
