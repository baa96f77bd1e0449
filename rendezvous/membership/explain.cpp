// SPDX-License-Identifier: Apache-2.0
// One sentence and one JSON object per alternative of Why; a new alternative does not compile until
// it has both.

#include "rendezvous/membership/explain.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/lease.hpp"

#include <nlohmann/json.hpp>

namespace muster::membership {
namespace {

using nlohmann::json;

std::string num(std::uint64_t number) {
  return std::to_string(number);
}

double seconds_until(TimePoint until, TimePoint now) {
  return until <= now ? 0.0 : std::chrono::duration<double>(until - now).count();
}

}  // namespace

std::string explain(Why const& why, TimePoint now) {
  return std::visit(
      Overload{
          [](why::WaitingForNodes const& w) {
            return "waiting for nodes: " + num(w.have) + " of at least " + num(w.min_nodes) +
                   " are here";
          },
          [now](why::LastCall const& w) {
            auto const left = w.until <= now ? Duration::zero() : w.until - now;
            auto const room = w.have < w.max_nodes ? w.max_nodes - w.have : 0;
            return counted(w.have, "node") + (w.have == 1 ? " is" : " are") + " here; " +
                   (room > 0 ? "up to " + num(room) + " more may come within "
                             : std::string("the round begins within ")) +
                   seconds_text(left);
          },
          [now](why::Holding const& w) {
            auto const left = w.until <= now ? Duration::zero() : w.until - now;
            return num(w.have) + " of at least " + counted(w.min_nodes, "node") + " are left" +
                   (w.cause.empty() ? "" : " (" + w.cause + ")") + "; waiting for more, " +
                   seconds_text(left) + " at most";
          },
          [](why::Inquiring const& w) {
            return "nodes of a running job have come: " + num(w.votes) +
                   " have answered whether reign " + num(w.epoch.value) + " may begin";
          },
          [](why::Resuming const& w) {
            return "a new host takes over round " + num(w.round.value) + " (reign " +
                   num(w.epoch.value) + ")";
          },
          [](why::OpeningStore const& w) {
            return "round " + num(w.round.value) + ": host " + w.host + " opens the workers' store";
          },
          [](why::Preparing const& w) {
            return "round " + num(w.round.value) + ": " + num(w.have) + " of " + num(w.voters) +
                   " voters have its record";
          },
          [](why::WaitingForStop const& w) {
            return "waiting for " + counted(w.left, "node") + " to stop the workers of round " +
                   num(w.round.value);
          },
          [](why::Running const& w) {
            return "round " + num(w.round.value) + " runs " + counted(w.world_size, "worker") +
                   " on " + counted(w.nodes, "node") + "; " + counted(w.done, "node") +
                   (w.done == 1 ? " is" : " are") + " done";
          },
          [](why::Concluding const& w) {
            return "the job ends" + (w.why.empty() ? "" : ": " + w.why);
          },
          [](why::Telling const& w) {
            return "the job is over; " + counted(w.left, "node") +
                   (w.left == 1 ? " has" : " have") + " not acknowledged it";
          },
          [](why::HandedOver const& w) {
            return "another host goes on with the job" + (w.why.empty() ? "" : ": " + w.why);
          },
          [](why::Over const& w) {
            return std::string(w.success ? "the job succeeded" : "the job failed") +
                   (w.why.empty() ? "" : ": " + w.why);
          },
      },
      why);
}

std::string to_json(Why const& why, TimePoint now) {
  auto object = std::visit(
      Overload{
          [](why::WaitingForNodes const& w) {
            return json{{"state", "waiting_for_nodes"},
                        {"have", w.have},
                        {"min", w.min_nodes},
                        {"max", w.max_nodes}};
          },
          [now](why::LastCall const& w) {
            return json{{"state", "last_call"},
                        {"have", w.have},
                        {"max", w.max_nodes},
                        {"seconds_left", seconds_until(w.until, now)}};
          },
          [now](why::Holding const& w) {
            return json{{"state", "holding"},
                        {"have", w.have},
                        {"min", w.min_nodes},
                        {"cause", w.cause},
                        {"seconds_left", seconds_until(w.until, now)}};
          },
          [](why::Inquiring const& w) {
            return json{{"state", "inquiring"}, {"epoch", w.epoch.value}, {"votes", w.votes}};
          },
          [](why::Resuming const& w) {
            return json{{"state", "resuming"}, {"epoch", w.epoch.value}, {"round", w.round.value}};
          },
          [](why::OpeningStore const& w) {
            return json{{"state", "opening_store"}, {"round", w.round.value}, {"host", w.host}};
          },
          [](why::Preparing const& w) {
            return json{{"state", "preparing"},
                        {"round", w.round.value},
                        {"have", w.have},
                        {"voters", w.voters}};
          },
          [](why::WaitingForStop const& w) {
            return json{{"state", "stopping"}, {"round", w.round.value}, {"left", w.left}};
          },
          [](why::Running const& w) {
            return json{{"state", "running"},
                        {"round", w.round.value},
                        {"nodes", w.nodes},
                        {"world_size", w.world_size},
                        {"done", w.done}};
          },
          [](why::Concluding const& w) {
            return json{{"state", "concluding"}, {"why", w.why}};
          },
          [](why::Telling const& w) {
            return json{{"state", "telling"}, {"left", w.left}};
          },
          [](why::HandedOver const& w) {
            return json{{"state", "handed_over"}, {"why", w.why}};
          },
          [](why::Over const& w) {
            return json{{"state", "over"}, {"success", w.success}, {"why", w.why}};
          },
      },
      why);
  object["text"] = explain(why, now);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace muster::membership
