// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/pump.hpp"

#include "launcher/logs/console_text.hpp"
#include "launcher/logs/line_splitter.hpp"
#include "launcher/logs/tail_ring.hpp"
#include "rendezvous/base/now.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

constexpr std::size_t kConsoleBytes = 4u << 20;
constexpr std::size_t kFileBytes = 16u << 20;
constexpr std::size_t kReadBytes = 64u << 10;
// A grandchild that never stops writing must not keep a settling round open.
constexpr std::size_t kSettleBytes = 8u << 20;

// A sink with the account of what it did not take.
struct Outlet {
  SinkPointer sink;
  std::size_t dropped_lines = 0, dropped_bytes = 0;
  bool stall_told = false;
};

// What a stream has read and nobody took yet (LogStall::block).
struct Held {
  Writer* writer;
  SinkPointer sink;
  std::string bytes;
};

struct Stream {
  explicit Stream(PumpStream from)
      : source(std::move(from)),
        text(source.plan.prefixed ? source.prefix : std::string()),
        file{source.file, 0, 0, false},
        filtered{source.filtered, 0, 0, false} {}

  PumpStream source;
  LineSplitter lines;
  ConsoleText text;
  TailRing tail;
  Outlet file, filtered;
  std::deque<Held> held;
};

std::size_t count_lines(std::string_view bytes) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

std::string amount(std::size_t lines, std::size_t bytes) {
  return std::to_string(lines) + (lines == 1 ? " line (" : " lines (") + std::to_string(bytes) +
         " bytes)";
}

// The line that stands in a stream where something is missing.
std::string account_of(Outlet const& outlet) {
  return "[muster: " + amount(outlet.dropped_lines, outlet.dropped_bytes) +
         (outlet.dropped_lines == 1 ? " was" : " were") +
         " dropped here: the reader did not take " + (outlet.dropped_lines == 1 ? "it" : "them") +
         "]\n";
}

std::string name_of(Sink const& sink) {
  if (!sink.name.empty()) return "log file '" + sink.name + "'";
  return sink.fd == STDERR_FILENO ? "the console (stderr)" : "the console (stdout)";
}

}  // namespace

struct Pump::Body {
  explicit Body(LogStall wanted) : stall(wanted), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  LogStall const stall;
  std::function<void(std::string)> on_stall;

  // Shared with the control thread.
  std::mutex mutex;
  std::vector<std::function<void(Body&)>> commands;
  UniqueFd wake;
  std::thread thread;

  // The pump's thread only.
  std::vector<Stream> streams;
  bool finishing = false;
  bool settling = false;                       // what is left is taken whatever the room
  std::size_t shed_lines = 0, shed_bytes = 0;  // in all
  std::array<Outlet, 2> console{Outlet{std::make_shared<Sink>(STDOUT_FILENO), 0, 0, false},
                                Outlet{std::make_shared<Sink>(STDERR_FILENO), 0, 0, false}};
  std::array<Writer, 2> console_writers{Writer{kConsoleBytes, nullptr, [this] { ring(); }},
                                        Writer{kConsoleBytes, nullptr, [this] { ring(); }}};
  bool told_of_file = false;  // file_writer's thread only
  Writer file_writer{kFileBytes, [this](Sink const& file, int error) { tell(file, error); },
                     [this] { ring(); }};
  std::string buffer = std::string(kReadBytes, '\0');

  void post(std::function<void(Body&)> command);
  bool ring();
  void run();
  std::vector<std::function<void(Body&)>> answer_bell();
  bool read_some(Stream& stream, std::size_t& taken);
  void settle(Stream& stream);
  void take(Stream& stream, std::string_view bytes);
  void show(Stream& stream, std::string shown, std::string kept);
  void take_line(Stream& stream, std::string_view line, std::string& shown, std::string& kept);
  void put(Stream& stream, Writer& writer, Outlet& outlet, std::string bytes);
  void hold(Stream& stream, Writer& writer, Outlet const& outlet, std::string bytes);
  void release_held(Stream& stream);
  void tell_stall(Outlet& outlet);
  void close_account(Writer& writer, Outlet& outlet);
  void close_all();
  void say(std::string line);
  void tell(Sink const& file, int error);
};

void Pump::Body::post(std::function<void(Body&)> command) {
  std::lock_guard const lock(mutex);
  commands.push_back(std::move(command));
  if (ring() && !thread.joinable()) thread = std::thread([this] { run(); });
}

// Commands are there, or room for what is held. Any thread. False: it will wake anyhow.
bool Pump::Body::ring() {
  std::uint64_t const one = 1;
  return ::write(wake.get(), &one, sizeof one) > 0;
}

std::vector<std::function<void(Pump::Body&)>> Pump::Body::answer_bell() {
  std::uint64_t count = 0;
  std::vector<std::function<void(Body&)>> due;
  if (::read(wake.get(), &count, sizeof count) < 0) return due;
  std::lock_guard const lock(mutex);
  due.swap(commands);
  return due;
}

void Pump::Body::run() {
  while (!finishing) {
    std::vector<pollfd> watched{{wake.get(), POLLIN, 0}};
    for (auto const& stream : streams) {  // -1 is passed over
      auto const fd = stream.held.empty() ? stream.source.read_end.get() : -1;
      watched.push_back({fd, POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), -1);
    // First: a bell that rings after a stream was offered in vain is for the next turn.
    auto const commands_due = answer_bell();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      release_held(streams[i]);
      std::size_t taken = 0;
      if (watched[i + 1].revents != 0 && !read_some(streams[i], taken)) settle(streams[i]);
    }
    for (auto const& command : commands_due) command(*this);
  }
}

// One read. False at the end of the stream, which is then closed.
bool Pump::Body::read_some(Stream& stream, std::size_t& taken) {
  auto& end = stream.source.read_end;
  auto const got = ::read(end.get(), buffer.data(), buffer.size());
  if (got > 0) {
    taken += static_cast<std::size_t>(got);
    take(stream, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  end.reset();
  return false;
}

// Everything that is in the pipe now, and, at its end, the line without an ending.
void Pump::Body::settle(Stream& stream) {
  settling = true;
  release_held(stream);
  auto& end = stream.source.read_end;
  for (std::size_t taken = 0; end && taken < kSettleBytes;) {
    auto const before = taken;
    if (!read_some(stream, taken) || taken == before) break;
  }
  if (!end) {
    std::string shown, kept;
    stream.lines.finish([&](std::string_view line) { take_line(stream, line, shown, kept); });
    stream.text.finish(shown);
    show(stream, std::move(shown), std::move(kept));
  }
  settling = false;
}

void Pump::Body::show(Stream& stream, std::string shown, std::string kept) {
  auto const which = stream.source.is_stderr ? 1u : 0u;
  if (!shown.empty()) put(stream, console_writers[which], console[which], std::move(shown));
  if (!kept.empty()) put(stream, file_writer, stream.filtered, std::move(kept));
}

void Pump::Body::take(Stream& stream, std::string_view bytes) {
  if (stream.file.sink) put(stream, file_writer, stream.file, std::string(bytes));
  std::string shown, kept;
  stream.lines.feed(bytes, [&](std::string_view line) { take_line(stream, line, shown, kept); });
  show(stream, std::move(shown), std::move(kept));
}

void Pump::Body::take_line(Stream& stream, std::string_view line, std::string& shown,
                           std::string& kept) {
  auto const& source = stream.source;
  if (source.plan.keeps_tail) stream.tail.add(line);
  if (source.plan.to_console) stream.text.add(line, now(), shown);
  auto const matches = [&](std::string const& needle) {
    return line.find(needle) != std::string_view::npos;
  };
  auto const& needles = source.plan.needles;
  if (!stream.filtered.sink || std::none_of(needles.begin(), needles.end(), matches)) return;
  kept += source.prefix;
  kept += line;
  if (!line.ends_with('\n')) kept += '\n';
}

void Pump::Body::put(Stream& stream, Writer& writer, Outlet& outlet, std::string bytes) {
  if (outlet.sink->error_number.load() != 0) return;
  if (stall == LogStall::block) return hold(stream, writer, outlet, std::move(bytes));
  // Once something was dropped nothing is waited for, until there is room again.
  auto const patience = outlet.dropped_bytes > 0 ? Duration::zero() : kConsolePatience;
  auto const lines = count_lines(bytes);
  auto const size = bytes.size();
  if (outlet.dropped_bytes > 0) bytes.insert(0, account_of(outlet));
  if (writer.offer(outlet.sink, std::move(bytes), patience)) {
    outlet.dropped_lines = outlet.dropped_bytes = 0;
  } else {
    outlet.dropped_lines += lines;
    outlet.dropped_bytes += size;
    shed_lines += lines;
    shed_bytes += size;
    tell_stall(outlet);
  }
}

// The worker is held up by its full pipe meanwhile. At the end of a round all is taken, since a
// report waits for the last lines.
void Pump::Body::hold(Stream& stream, Writer& writer, Outlet const& outlet, std::string bytes) {
  if (settling) return writer.insist(outlet.sink, std::move(bytes));
  if (stream.held.empty() && writer.offer(outlet.sink, std::move(bytes), Duration::zero())) return;
  stream.held.push_back({&writer, outlet.sink, std::move(bytes)});
}

void Pump::Body::release_held(Stream& stream) {
  while (!stream.held.empty()) {
    auto& [writer, sink, bytes] = stream.held.front();
    if (settling)
      writer->insist(sink, std::move(bytes));
    else if (!writer->offer(sink, std::move(bytes), Duration::zero()))
      return;
    stream.held.pop_front();
  }
}

// Once for each console and file: which one it is, and what follows.
void Pump::Body::tell_stall(Outlet& outlet) {
  if (std::exchange(outlet.stall_told, true)) return;
  auto const what = name_of(*outlet.sink) + " takes no more output";
  if (stall == LogStall::stop && on_stall)
    std::exchange(on_stall, nullptr)(what);
  else
    say("muster: " + what + ": lines are dropped until it does (--log-stall=drop)");
}

void Pump::Body::close_account(Writer& writer, Outlet& outlet) {
  if (outlet.dropped_bytes == 0) return;
  writer.insist(outlet.sink, account_of(outlet));
  outlet.dropped_lines = outlet.dropped_bytes = 0;
}

void Pump::Body::close_all() {
  for (auto& stream : streams) {
    settle(stream);
    if (!stream.source.read_end) continue;
    stream.source.read_end.reset();  // somebody who escaped still holds the other end
    settle(stream);
  }
  for (auto& stream : streams) {
    close_account(file_writer, stream.file);
    close_account(file_writer, stream.filtered);
  }
  for (std::size_t i = 0; i < console.size(); ++i) close_account(console_writers[i], console[i]);
  streams.clear();
}

void Pump::Body::say(std::string line) {
  line += '\n';
  console_writers[1].insist(console[1].sink, std::move(line));
}

// The first one only: on a full disk every file fails.
void Pump::Body::tell(Sink const& file, int error) {
  if (std::exchange(told_of_file, true)) return;
  say("muster: log file '" + file.name + "' is cut: " + std::generic_category().message(error) +
      " (make room, or give --log-dir another place; the job goes on)");
}

Pump::Pump(LogStall stall) : body_(std::make_unique<Body>(stall)) {}

Pump::~Pump() {
  if (!finished_) finish(std::chrono::seconds{1});
}

void Pump::on_stall(std::function<void(std::string)> told) {
  body_->on_stall = std::move(told);
}

void Pump::add(std::vector<PumpStream> streams) {
  if (streams.empty()) return;
  auto shared = std::make_shared<std::vector<PumpStream>>(std::move(streams));
  body_->post([shared](Body& body) {
    for (auto& stream : *shared) body.streams.emplace_back(std::move(stream));
  });
}

void Pump::collect_tails(std::function<void(Tails)> done) {
  body_->post([done = std::move(done)](Body& body) {
    Tails tails;
    for (auto& stream : body.streams) {
      body.settle(stream);
      if (stream.source.plan.keeps_tail) tails[stream.source.local_rank] = stream.tail.lines();
    }
    done(std::move(tails));
  });
}

void Pump::end_round() {
  if (body_->thread.joinable()) body_->post([](Body& body) { body.close_all(); });
}

void Pump::say(std::string line) {
  body_->say(std::move(line));
}

bool Pump::finish(Duration patience) {
  finished_ = true;
  if (body_->thread.joinable()) {
    body_->post([](Body& body) {
      body.close_all();
      body.finishing = true;
    });
    body_->thread.join();
  }
  if (auto const bytes = std::exchange(body_->shed_bytes, 0); bytes > 0)
    body_->say("muster: " + amount(body_->shed_lines, bytes) +
               " of output in all could not be written (--log-stall)");
  bool complete = body_->file_writer.finish(patience);
  for (auto& writer : body_->console_writers) complete = writer.finish(patience) && complete;
  return complete;
}

}  // namespace muster::launch
