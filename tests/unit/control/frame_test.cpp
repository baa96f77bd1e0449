// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/frame.hpp"

#include "rendezvous/base/limits.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace muster;
using namespace muster::control;

namespace {

std::vector<std::string> all_frames(FrameReader& reader) {
  std::vector<std::string> bodies;
  for (;;) {
    auto next = reader.next();
    REQUIRE(next);
    if (!*next) return bodies;
    bodies.push_back(**next);
  }
}

}  // namespace

TEST_CASE("a greeting names its version, and anything else is no greeting", "[control]") {
  CHECK(greeting().size() == kGreetingBytes);
  CHECK(*read_greeting(greeting()) == kProtocolVersion);
  CHECK_FALSE(read_greeting("GET / HT"));
  CHECK_FALSE(read_greeting("MUSTER"));
  CHECK_FALSE(read_greeting("MUSTER\x01x"));
}

TEST_CASE("a peer of another version is told which host to update", "[control]") {
  CHECK(version_mismatch(kProtocolVersion + 1, "new", "old").hint.find("host old") !=
        std::string::npos);
  CHECK(version_mismatch(0, "peer", "self").hint.find("host peer") != std::string::npos);
}

TEST_CASE("frames come out the same however the bytes are split", "[control]") {
  std::string const big(70'000, 'x');
  auto const stream = frame("a") + frame(big) + frame("bc") + frame("d");
  std::vector<std::string> const expected{"a", big, "bc", "d"};
  auto const step = GENERATE(std::size_t{1}, 2, 3, 5, 1'000, 65'536, 1'000'000);
  FrameReader reader;
  std::vector<std::string> bodies;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    reader.feed(std::string_view(stream).substr(at, step));
    for (auto& body : all_frames(reader)) bodies.push_back(std::move(body));
  }
  CHECK(bodies == expected);
  CHECK(reader.wanted() == 4);
}

TEST_CASE("a reader says how many bytes complete the frame", "[control]") {
  FrameReader reader;
  CHECK(reader.wanted() == 4);
  reader.feed(std::string_view(frame("hello")).substr(0, 6));
  CHECK(reader.wanted() == 3);
}

TEST_CASE("tags come out with their bodies, and are not in their lengths", "[control]") {
  auto const stream = frame("hello", "tag1") + frame("you", "tag2");
  auto const step = GENERATE(std::size_t{1}, 3, 1'000);
  FrameReader reader;
  reader.expect_tags(4);
  std::vector<std::string> bodies;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    reader.feed(std::string_view(stream).substr(at, step));
    for (auto& body : all_frames(reader)) bodies.push_back(std::move(body));
  }
  CHECK(bodies == std::vector<std::string>{"hellotag1", "youtag2"});
  reader.feed(std::string_view(stream).substr(0, 9));
  CHECK(all_frames(reader).empty());
  CHECK(reader.held() == 9);
  CHECK(reader.wanted() == 4);
}

TEST_CASE("an empty or oversized frame is refused", "[control]") {
  FrameReader empty;
  empty.feed(std::string_view("\0\0\0\0", 4));
  CHECK(empty.next().error().code == Errc::limit);
  FrameReader huge;
  huge.feed("\xff\xff\xff\xff");
  CHECK(huge.next().error().code == Errc::limit);
}
