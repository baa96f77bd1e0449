// SPDX-License-Identifier: Apache-2.0
#include "launcher/diagnose/summary.hpp"

#include "launcher/diagnose/exit_words.hpp"
#include "launcher/diagnose/root_cause.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

namespace muster::launch {
namespace {

constexpr std::size_t kMaxBorder = 60;  // torchrun's
constexpr std::size_t kPlainTail = 20;  // lines of a stderr that holds no traceback
constexpr std::size_t kMaxShown = 16;   // failures in full; a job may have thousands of ranks
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::string time_text(FailedWorker const& worker) {
  auto const seconds = static_cast<std::time_t>(
      worker.error_time_s != 0 ? worker.error_time_s : worker.wall_ns / kNsPerSecond);
  std::tm local{};
  std::array<char, 32> text{};
  if (::localtime_r(&seconds, &local) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d_%H:%M:%S", &local) == 0)
    return "<N/A>";
  return text.data();
}

std::string indented(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string out;
  for (char const c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

std::string what_it_said(FailedWorker const& worker) {
  if (!worker.traceback.empty()) return indented(worker.traceback);
  if (!worker.message.empty()) return indented(worker.message);
  if (worker.signal != 0)
    return "Signal " + std::to_string(worker.signal) + " (" + signal_name(worker.signal) +
           ") received by PID " + std::to_string(worker.pid);
  return worker.stderr_tail.empty() ? "<N/A>" : "see its stderr below";
}

// torchrun's block for one failure. Exit codes of signals are negative there.
std::string block(std::size_t index, RankedFailure const& failure) {
  auto const& worker = *failure.worker;
  auto const code = worker.signal != 0 ? -worker.signal : worker.exit_code;
  std::string out = "[" + std::to_string(index) + "]:\n";
  auto const line = [&](char const* name, std::string const& value) {
    out += "  " + std::string(name) + ": " + value + "\n";
  };
  line("time      ", time_text(worker));
  line("host      ", failure.node->host);
  line("rank      ",
       std::to_string(worker.rank) + " (local_rank: " + std::to_string(worker.local_rank) + ")");
  line("exitcode  ", std::to_string(code) + " (pid: " + std::to_string(worker.pid) + ")" +
                         (worker.signal != 0 ? " (" + signal_name(worker.signal) + ")" : ""));
  line("error_file", worker.error_file.empty() ? "<N/A>" : worker.error_file);
  line("traceback ", what_it_said(worker));
  return out;
}

// From the first line of the last traceback (with those that it says led to it), or the last lines.
std::vector<std::string> worth_showing(std::vector<std::string> const& tail) {
  constexpr std::string_view kTraceback = "Traceback (most recent call last):";
  constexpr std::array<std::string_view, 2> kLinks = {
      "During handling of the above exception, another exception occurred:",
      "The above exception was the direct cause of the following exception:"};
  auto const holds = [&](std::size_t i, std::string_view words) {
    return tail[i].find(words) != std::string::npos;
  };
  std::size_t begin = tail.size();
  bool linked = true;
  for (std::size_t i = tail.size(); i-- > 0;) {
    if (holds(i, kLinks[0]) || holds(i, kLinks[1])) linked = true;
    if (!holds(i, kTraceback)) continue;
    if (!linked) break;
    begin = i;
    linked = false;
  }
  if (begin == tail.size()) begin = tail.size() - std::min(tail.size(), kPlainTail);
  return {tail.begin() + static_cast<std::ptrdiff_t>(begin), tail.end()};
}

// PyTorch puts "[rank2]: " before each line of an uncaught exception.
std::string_view without_rank(std::string_view line) {
  if (line.rfind("[rank", 0) != 0) return line;
  auto const end = line.find("]: ");
  return end == std::string_view::npos ? line : line.substr(end + 3);
}

// The first line of its message; without one, what a traceback on stderr ends with.
std::string reason_of(FailedWorker const& worker) {
  if (!worker.message.empty()) return worker.message.substr(0, worker.message.find('\n'));
  if (worker.signal != 0 || worker.stderr_tail.empty()) return {};
  auto const lines = worth_showing(worker.stderr_tail);
  if (lines.front().find("Traceback") == std::string::npos) return {};
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    auto const text = without_rank(*line);
    if (!text.empty() && text.front() != ' ') return std::string(text);
  }
  return {};
}

std::string stderr_part(RankedFailure const& cause) {
  auto const& worker = *cause.worker;
  if (worker.stderr_tail.empty()) return {};
  auto const lines = worth_showing(worker.stderr_tail);
  std::string out = "stderr of rank " + std::to_string(worker.rank) + ", last " +
                    std::to_string(lines.size()) + " lines" +
                    (worker.stderr_log.empty() ? "" : " of " + worker.stderr_log) + ":\n";
  for (auto const& line : lines) out += "  | " + line + "\n";
  return out;
}

// "0-3,5".
std::string rank_ranges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    auto end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    out += (out.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end > i) out += "-" + std::to_string(ranks[end]);
    i = end + 1;
  }
  return out;
}

std::string folded(std::vector<RankedFailure> const& all, Role role, char const* words) {
  std::vector<int> ranks;
  // The cause is shown in full, whatever its role.
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].role == role) ranks.push_back(all[i].worker->rank);
  return ranks.empty() ? std::string() : "  " + std::string(words) + rank_ranges(ranks) + "\n";
}

std::string others(std::vector<RankedFailure> const& all) {
  std::string out;
  std::size_t shown = 0;
  std::vector<int> left_out;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].role != Role::own) continue;
    if (++shown < kMaxShown)
      out += block(i, all[i]);
    else
      left_out.push_back(all[i].worker->rank);
  }
  if (!left_out.empty()) out += "  and ranks " + rank_ranges(left_out) + "\n";
  if (out.empty()) out = "  <NO_OTHER_FAILURES>\n";
  out += folded(all, Role::follower, "failed because a peer was gone: ranks ");
  out += folded(all, Role::stopped, "stopped by muster afterwards: ranks ");
  return out;
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  while (!text.empty()) {
    auto const line = text.substr(0, text.find('\n'));
    widest = std::max(widest, line.size());
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return widest;
}

}  // namespace

std::string cause_line(std::vector<NodeReport> const& reports) {
  auto const all = order_by_cause(reports);
  if (all.empty()) return {};
  auto const& worker = *all[0].worker;
  auto out = "rank " + std::to_string(worker.rank) + " (local rank " +
             std::to_string(worker.local_rank) + ") on " + all[0].node->host +
             " failed first: " + exit_words(worker);
  if (auto const reason = reason_of(worker); !reason.empty()) out += ": " + reason;
  return out;
}

std::string failure_summary(std::vector<NodeReport> const& reports) {
  auto const all = order_by_cause(reports);
  if (all.empty()) return {};
  auto const title = all[0].node->program + " FAILED\n";
  auto const root = block(0, all[0]);
  auto const rest = others(all);
  auto const width =
      std::min(kMaxBorder, std::max({widest_line(title), widest_line(root), widest_line(rest)}));
  auto const border = std::string(width, '=') + "\n";
  auto const rule = std::string(width, '-') + "\n";
  auto out = border + title + rule + "Failures:\n" + rest + rule +
             "Root Cause (first observed failure):\n" + root;
  if (auto const text = stderr_part(all[0]); !text.empty()) out += rule + text;
  out += rule + cause_line(reports) + "\n";
  if (auto const advice = exit_advice(*all[0].worker); !advice.empty()) out += "  " + advice + "\n";
  return out + border;
}

int cause_exit_code(std::vector<NodeReport> const& reports) {
  auto const all = order_by_cause(reports);
  return all.empty() ? 1 : exit_code_of(*all[0].worker);
}

}  // namespace muster::launch
