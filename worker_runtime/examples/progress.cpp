// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/progress.hpp"

#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace muster::worker {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr int kBarWidth = 24;
constexpr char kEraseLine[] = "\r\033[K";

double seconds_since(TimePoint begin) {
  return std::max(1e-9, std::chrono::duration<double>(now() - begin).count());
}

}  // namespace

Progress::Progress(bool quiet, std::int64_t epochs, std::int64_t samples, std::int64_t samples_done)
    : quiet_(quiet),
      terminal_(::isatty(STDOUT_FILENO) == 1),
      epochs_(epochs),
      samples_(samples),
      done_(samples_done),
      done_before_run_(samples_done),
      run_began_(now()) {}

void Progress::begin_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  done_before_epoch_ = done_;
  epoch_began_ = now();
}

void Progress::step(std::int64_t samples, double mean_loss) {
  done_ += samples;
  if (quiet_ || !terminal_ || now() - drawn_ < kRedrawEvery) return;
  drawn_ = now();
  draw_bar(mean_loss);
}

void Progress::draw_bar(double mean_loss) {
  auto const part =
      std::clamp(static_cast<double>(done_) / static_cast<double>(samples_), 0.0, 1.0);
  auto const rate = static_cast<double>(done_ - done_before_run_) / seconds_since(run_began_);
  auto const left = static_cast<int>(
      static_cast<double>(std::max<std::int64_t>(0, samples_ - done_)) / std::max(rate, 1e-9));
  auto const filled = static_cast<int>(part * kBarWidth);
  auto const bar = std::string(static_cast<std::size_t>(filled), '#') +
                   std::string(static_cast<std::size_t>(kBarWidth - filled), '.');
  std::printf("%s[%s] epoch %lld/%lld  loss %.4f  %.0f samples/s  %d:%02d left", kEraseLine,
              bar.c_str(), static_cast<long long>(epoch_), static_cast<long long>(epochs_),
              mean_loss, samples_per_second(), left / 60, left % 60);
  std::fflush(stdout);
}

double Progress::samples_per_second() const {
  return static_cast<double>(done_ - done_before_epoch_) / seconds_since(epoch_began_);
}

void Progress::end_epoch(double mean_loss) {
  say("epoch %lld/%lld  loss %.4f  %.0f samples/s", static_cast<long long>(epoch_),
      static_cast<long long>(epochs_), mean_loss, samples_per_second());
}

void Progress::say(char const* format, ...) {
  if (quiet_) return;
  if (terminal_) std::fputs(kEraseLine, stdout);
  std::va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

}  // namespace muster::worker
