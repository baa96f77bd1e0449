// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace muster::log {
namespace {

// Passes formatted lines on, or to stderr while nobody takes them.
class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set_writer(std::function<void(std::string)> writer) {
    std::lock_guard const lock(mutex_);
    writer_ = std::move(writer);
  }

 private:
  void sink_it_(spdlog::details::log_msg const& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (writer_) {
      writer_(std::string(line.data(), line.size() - 1));  // without the end of line
    } else {
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
  }
  void flush_() override { std::fflush(stderr); }

  std::function<void(std::string)> writer_;
};

std::shared_ptr<LineSink> const& line_sink() {
  static auto const instance = std::make_shared<LineSink>();
  return instance;
}

std::shared_ptr<spdlog::logger>& logger() {
  static auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("muster", line_sink());
    made->set_pattern("%n: %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      return spdlog::level::off;
  }
  return spdlog::level::warn;
}

void write(spdlog::level::level_enum level, std::string_view text) {
  logger()->log(level, spdlog::string_view_t{text.data(), text.size()});
}

}  // namespace

Result<Level> parse_level(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  if (lower == "debug") return Level::debug;
  if (lower == "info") return Level::info;
  if (lower == "warning" || lower == "warn") return Level::warning;
  if (lower == "error" || lower == "critical") return Level::error;
  if (lower == "off") return Level::off;
  return Error{Errc::bad_input, "log level '" + std::string(name) + "' is unknown",
               "use debug, info, warning, error or off"};
}

void start(std::string_view program, Level least) {
  auto made = std::make_shared<spdlog::logger>(std::string(program), line_sink());
  // Time and level are for whoever asked to see more; a plain run shows "muster: text".
  made->set_pattern(least <= Level::info ? "%Y-%m-%d %H:%M:%S.%e %n %l: %v" : "%n: %v");
  made->set_level(to_spdlog(least));
  made->flush_on(spdlog::level::debug);
  logger() = std::move(made);
}

void write_through(std::function<void(std::string)> writer) {
  line_sink()->set_writer(std::move(writer));
}

void debug(std::string_view text) {
  write(spdlog::level::debug, text);
}
void info(std::string_view text) {
  write(spdlog::level::info, text);
}
void warning(std::string_view text) {
  write(spdlog::level::warn, text);
}
void error(std::string_view text) {
  write(spdlog::level::err, text);
}
bool shows(Level level) {
  return logger()->should_log(to_spdlog(level));
}

}  // namespace muster::log
