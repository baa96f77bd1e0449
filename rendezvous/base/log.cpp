// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <memory>
#include <string>

namespace muster::log {
namespace {

std::shared_ptr<spdlog::logger>& logger() {
  static auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("muster",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
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
  auto made = std::make_shared<spdlog::logger>(std::string(program),
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>());
  // Time and level are for whoever asked to see more; a plain run shows "muster: text".
  made->set_pattern(least <= Level::info ? "%Y-%m-%d %H:%M:%S.%e %n %l: %v" : "%n: %v");
  made->set_level(to_spdlog(least));
  made->flush_on(spdlog::level::debug);
  logger() = std::move(made);
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
