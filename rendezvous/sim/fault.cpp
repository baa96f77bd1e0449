// SPDX-License-Identifier: Apache-2.0
// Faults as lines of text.

#include "rendezvous/sim/fault.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/story.hpp"

namespace muster::sim {
namespace {

std::string names(NodeGroup const& group) {
  std::string text;
  for (auto const node : group) text += (text.empty() ? "" : ",") + node_name(node);
  return text;
}

std::string percent(double part) {
  return std::to_string(part * 100).substr(0, 5) + "%";
}

}  // namespace

std::string node_name(NodeIndex node) {
  return "h" + std::to_string(node + 1);
}

std::string to_text(Fault const& fault) {
  using namespace fault;
  return std::visit(
      Overload{
          [](Partition const& f) {
            std::string text = "partition ";
            for (std::size_t i = 0; i < f.groups.size(); ++i)
              text += (i == 0 ? "" : " | ") + names(f.groups[i]);
            return text;
          },
          [](OneWay const& f) { return "oneway " + names(f.from) + " > " + names(f.to); },
          [](Heal const&) { return std::string("heal"); },
          [](Break const& f) { return "break " + node_name(f.a) + " " + node_name(f.b); },
          [](Weather const& f) {
            return "weather delay=" + duration_text(f.most_delay) + " loss=" + percent(f.loss) +
                   " breaks=" + std::to_string(f.breaks_per_second);
          },
          [](Pause const& f) {
            return "pause " + node_name(f.node) + " " + duration_text(f.length);
          },
          [](Freeze const& f) {
            return "freeze " + node_name(f.node) + " " + duration_text(f.length);
          },
          [](Late const& f) { return "late " + node_name(f.node) + " " + duration_text(f.by); },
          [](PowerLoss const& f) { return "power " + node_name(f.node); },
          [](Kill const& f) {
            return "kill " + node_name(f.node) + (f.guardian_too ? " both" : " agent");
          },
          [](Start const& f) { return "start " + node_name(f.node); },
          [](Terminate const& f) { return "term " + node_name(f.node); },
          [](FailWorker const& f) {
            return "fail " + node_name(f.node) + " " + std::to_string(f.exit_code);
          },
          [](FinishWorkers const&) { return std::string("finish"); },
          [](Stick const& f) { return "stick " + node_name(f.node); },
      },
      fault);
}

Duration length_of(Fault const& fault) {
  if (auto const* pause = std::get_if<fault::Pause>(&fault)) return pause->length;
  if (auto const* freeze = std::get_if<fault::Freeze>(&fault)) return freeze->length;
  return Duration::zero();
}

}  // namespace muster::sim
