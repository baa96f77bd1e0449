// SPDX-License-Identifier: Apache-2.0
// The thread that may wait for a disk for ever, which here is a pipe that the test writes to.

#include "launcher/agent/disk_thread.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

struct Story {
  net::asio::io_context io{1};
  std::optional<DiskThread> disk{io};
  std::string told;  // a letter for each answer in time, its capital for a late one

  void ask(char letter, std::function<void()> work, Duration patience = 20s) {
    disk->run(
        std::move(work),
        [this, letter](bool in_time) {
          told += in_time ? letter : static_cast<char>(letter - 'a' + 'A');
        },
        patience);
  }
  void run_until(std::string const& wanted) {
    auto const deadline = deadline_in(20s);
    while (told != wanted && !deadline.passed(now())) {
      io.restart();
      io.run_for(5ms);
    }
    REQUIRE(told == wanted);
  }
};

// A disk that answers once, when it is told to.
struct Disk {
  Disk() : pipe(std::make_shared<Pipe>(*make_pipe())) {}

  std::function<void()> read() const {
    return [pipe = pipe] {
      char byte = 0;
      if (::read(pipe->read_end.get(), &byte, 1) < 0) return;
    };
  }
  void answer() const { REQUIRE(::write(pipe->write_end.get(), "x", 1) == 1); }

  std::shared_ptr<Pipe> pipe;
};

}  // namespace

TEST_CASE("work is done in order, each answer comes on the caller's thread", "[disk_thread]") {
  Story story;
  std::string done;
  auto const caller = std::this_thread::get_id();
  bool elsewhere = true;
  for (char const letter : {'a', 'b', 'c'})
    story.ask(letter, [&done, &elsewhere, caller, letter] {
      elsewhere = elsewhere && std::this_thread::get_id() != caller;
      done += letter;
    });
  story.run_until("abc");
  CHECK(done == "abc");
  CHECK(elsewhere);
}

TEST_CASE("a disk that does not answer is given up at the deadline, and heard of once",
          "[disk_thread]") {
  Disk hung;
  Story story;
  story.ask('a', hung.read(), 10ms);
  story.ask('b', [] {});
  story.run_until("A");
  hung.answer();  // b was behind it
  story.run_until("Ab");
}

TEST_CASE("who is gone is not told, and does not wait", "[disk_thread]") {
  Disk hung;
  auto const begun = std::make_shared<std::atomic<bool>>(false);
  {
    Story story;
    story.ask('a', [begun, wait = hung.read()] {
      *begun = true;
      wait();
    });
    auto const deadline = deadline_in(20s);
    while (!*begun && !deadline.passed(now())) {
    }
    story.disk.reset();
    story.io.poll();
    CHECK(story.told.empty());
  }
  // The thread comes back to find that nobody is there any more.
  hung.answer();
}

TEST_CASE("at the end work is waited for, but not for ever", "[disk_thread]") {
  bool done = false;
  CHECK(run_within(20s, [&] { done = true; }));
  CHECK(done);
  Disk hung;
  CHECK(!run_within(10ms, hung.read()));
  hung.answer();
}

TEST_CASE("without work there is no thread to wait for", "[disk_thread]") {
  Story story;
  story.disk.reset();
  story.disk.emplace(story.io);
  story.ask('a', [] {});
  story.run_until("a");
}
