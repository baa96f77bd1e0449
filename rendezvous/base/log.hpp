// SPDX-License-Identifier: Apache-2.0
#pragma once
// muster's log verbs, on stderr. Callers format; only log.cpp knows spdlog. Thread-safe. Nothing is
// shown below `warning` unless --log-level or LOGLEVEL asks: while all is well muster is silent.

#include "rendezvous/base/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace muster::log {

enum class Level { debug, info, warning, error, off };

// Accepts torchrun's LOGLEVEL names in either case (DEBUG, INFO, WARNING, WARN, ERROR, CRITICAL)
// and `off`.
Result<Level> parse_level(std::string_view name);

// Sets the program's name shown in each line and the least level shown. Call once, early in main.
void start(std::string_view program, Level least);

// From now on whole lines (without "\n") go to `writer` instead of stderr, for a thread that must
// not block on a console; nullptr: to stderr again. `writer` may be called from any thread.
void write_through(std::function<void(std::string)> writer);

void debug(std::string_view text);
void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);
bool shows(Level level);

}  // namespace muster::log
