// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_words.hpp"

#include "rendezvous/base/ip_address.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

std::string joined(std::vector<std::string> parts) {
  // A resolver names an address once for each kind of socket.
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  std::string text;
  for (auto const& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string own_addresses(UnansweredEndpoint const& endpoint) {
  std::string text;
  for (auto const& network : endpoint.networks)
    text += (text.empty() ? "" : ", ") + network.address + " (" + network.interface + ")";
  return text.empty() ? "loopback addresses only" : text;
}

std::string places_of(UnansweredEndpoint const& endpoint) {
  std::string text;
  for (auto const& place : endpoint.places)
    text += (text.empty() ? "" : ",") + endpoint_text(place.host, place.port);
  return text;
}

// "head is 10.9.0.1"; nothing of what was given as an address.
std::string resolved_names(UnansweredEndpoint const& endpoint) {
  std::string text;
  for (auto const& place : endpoint.places)
    if (!place.resolved.empty() && !parse_ip(place.host))
      text += (text.empty() ? "" : ", ") + place.host + " is " + joined(place.resolved);
  return text.empty() ? text : text + " here; ";
}

std::string why_it_calls(UnansweredEndpoint const& endpoint) {
  switch (endpoint.reason) {
    case NotHosting::not_its_address:
      return "this node has " + own_addresses(endpoint) + ", so another one must host";
    case NotHosting::told:
      return "this node was told not to host (is_host=0)";
    case NotHosting::not_rank_zero:
      return "node rank 0 hosts, and this node has another rank";
    case NotHosting::port_taken:
      return "another program of this machine has port " +
             std::to_string(endpoint.places.front().port);
  }
  return {};
}

std::string remedy(UnansweredEndpoint const& endpoint) {
  switch (endpoint.reason) {
    case NotHosting::not_its_address:
      return "start muster on the node that has this address; where it is translated on the way, "
             "give --rdzv-conf=is_host=1 there";
    case NotHosting::told:
      return "start the node that hosts, or leave out is_host=0";
    case NotHosting::not_rank_zero:
      return "start the node of rank 0, and see that " + places_of(endpoint) + " is it";
    case NotHosting::port_taken:
      return "see who it is with ss -ltnp, or choose another port with --rdzv-endpoint";
  }
  return {};
}

}  // namespace

std::string nobody_answers_line(UnansweredEndpoint const& endpoint, Duration waited) {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  auto text = "nobody answers at " + places_of(endpoint) + " for " + std::to_string(seconds) +
              " s: " + resolved_names(endpoint);
  text += why_it_calls(endpoint);
  if (endpoint.last_problem) text += "; last: " + endpoint.last_problem->what;
  return text + " (" + remedy(endpoint) + ")";
}

}  // namespace muster::launch
