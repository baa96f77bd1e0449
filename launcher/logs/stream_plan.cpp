// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/stream_plan.hpp"

namespace muster::launch {
namespace {

bool covers(StreamSet set, bool is_stderr) {
  return is_stderr ? set.err : set.out;
}

}  // namespace

StreamPlan plan_stream(RunOptions const& options, ConsoleFacts facts, int local_rank,
                       bool is_stderr) {
  auto const& filter = options.local_ranks_filter;
  bool const shown = !filter || filter->count(local_rank) > 0;
  bool const teed = covers(options.tee.of(local_rank), is_stderr);
  bool const to_file =
      !options.log_files_off && (teed || covers(options.redirects.of(local_rank), is_stderr));
  StreamPlan plan;
  plan.to_file = to_file;
  plan.keeps_tail = is_stderr;
  if (teed) {
    plan.to_console = plan.prefixed = shown;
    if (to_file) plan.needles = is_stderr ? options.stderr_filters : options.stdout_filters;
    return plan;
  }
  if (to_file) {
    plan.end = StreamEnd::file;
    plan.keeps_tail = false;  // the file does
  } else if (covers(options.redirects.of(local_rank), is_stderr)) {
    plan.end = is_stderr ? StreamEnd::pipe : StreamEnd::null;  // --log-dir=/dev/null
  } else if (!shown) {
    plan.end = is_stderr ? StreamEnd::pipe : StreamEnd::null;
  } else if (facts.world_of_one && (!is_stderr || facts.stderr_is_terminal)) {
    plan.end = StreamEnd::inherited;
    plan.keeps_tail = false;
  } else {
    plan.to_console = true;
  }
  return plan;
}

}  // namespace muster::launch
