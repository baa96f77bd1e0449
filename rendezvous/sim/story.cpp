// SPDX-License-Identifier: Apache-2.0
// One line for each kind of thing that a history tells.

#include "rendezvous/sim/story.hpp"

#include "rendezvous/base/overload.hpp"

#include <cstdio>

namespace muster::sim {
namespace {

using namespace membership;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::string text_of(Record const& record) {
  return " round " + number(record.round.value) + " epoch " + number(record.epoch.value) + " (" +
         (record.outcome ? std::string("outcome") : number(record.nodes) + " nodes") + ", " +
         number(record.voters.size()) + " voters)";
}

std::string text_of(Status const& status) {
  return " prepared " + number(status.prepared.value) + " committed " +
         number(status.committed.value) + " stopped " + number(status.stopped.value) + " done " +
         number(status.done.value);
}

std::string details(Message const& message) {
  return std::visit(
      Overload{
          [](Join const& m) { return text_of(m.status); },
          [](Lease const& m) {
            return text_of(m.status) + (m.vouches.empty() ? "" : " with vouchers");
          },
          [](Ack const& m) {
            return " quorum " + duration_text(Duration{m.quorum_age_ns}) + " ago, dead after " +
                   duration_text(Duration{m.dead_ns});
          },
          [](Prepare const& m) { return text_of(m.record); },
          [](Commit const& m) { return text_of(m.record); },
          [](Prepared const& m) { return " round " + number(m.round.value); },
          [](OpenStore const& m) { return " round " + number(m.round.value); },
          [](StoreOpened const& m) { return " round " + number(m.round.value); },
          [](Probe const& m) { return " round " + number(m.round.value); },
          [](Probed const& m) {
            return " round " + number(m.round.value) + ", " + number(m.failures.size()) +
                   " unreachable";
          },
          [](Stop const& m) { return " round " + number(m.round.value) + ": " + m.why; },
          [](Stopped const& m) { return " round " + number(m.round.value); },
          [](Done const& m) { return " round " + number(m.round.value); },
          [](Failed const& m) {
            return " round " + number(m.failure.round.value) + " exit " +
                   std::to_string(m.failure.exit_code);
          },
          [](Outcome const& m) {
            return m.success ? std::string(" success") : " failure: " + m.why;
          },
          [](Refused const& m) { return ": " + m.what; },
          [](Evicted const& m) { return ": " + m.why; },
          [](Leave const& m) { return ": " + m.why; },
          [](HostIs const& m) {
            return " " + (m.host.host.empty() ? std::string("unknown") : m.host.host) + " epoch " +
                   number(m.epoch.value) + (m.committed ? "" : ", nothing committed");
          },
          [](Answer const& m) { return std::string(m.granted ? " granted" : " not granted"); },
          [](VoteRequest const& m) {
            return " epoch " + number(m.epoch.value) + (m.trial ? " (on trial)" : "");
          },
          [](VoteReply const& m) {
            return " epoch " + number(m.epoch.value) + (m.granted ? " granted" : " not granted") +
                   (m.highest ? ", holds" + text_of(m.highest->record) : "");
          },
          [](Waiting const& m) { return ": " + m.text; },
          [](auto const&) { return std::string(); },
      },
      message);
}

}  // namespace

std::string moment_text(Duration since_beginning) {
  char text[32];
  std::snprintf(text, sizeof text, "%12.6f",
                std::chrono::duration<double>(since_beginning).count());
  return text;
}

std::string duration_text(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::chrono::duration<double>(duration).count());
  return std::string(text) + "s";
}

std::string describe(control::Letter const& letter) {
  return std::string(control::name_of(letter.message)) + details(letter.message) + "   [epoch " +
         number(letter.header.epoch.value) + "]";
}

}  // namespace muster::sim
