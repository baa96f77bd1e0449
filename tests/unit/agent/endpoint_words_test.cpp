// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_words.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

UnansweredEndpoint head() {
  UnansweredEndpoint endpoint;
  endpoint.places = {{"head", 29400, {"10.9.0.1", "10.9.0.1"}}};
  endpoint.networks = {{"eth0", "10.77.0.2", 24, false}, {"docker0", "172.17.0.1", 16, true}};
  return endpoint;
}

}  // namespace

TEST_CASE("a node that nobody answers says what it compared, and that it is a client", "[links]") {
  auto endpoint = head();
  endpoint.last_problem = Error{Errc::unreachable, "connect to head:29400: Connection refused", {}};
  CHECK(nobody_answers_line(endpoint, 5s) ==
        "nobody answers at head:29400 for 5 s: head is 10.9.0.1 here; this node has 10.77.0.2 "
        "(eth0), 172.17.0.1 (docker0), so another one must host; last: connect to head:29400: "
        "Connection refused (start muster on the node that has this address; where it is "
        "translated on the way, give --rdzv-conf=is_host=1 there)");
}

TEST_CASE("an address is not said to resolve to itself, and loopback is no address", "[links]") {
  auto endpoint = head();
  endpoint.places.front().host = "fd77::1";
  endpoint.networks.clear();
  CHECK_THAT(nobody_answers_line(endpoint, 5s),
             Catch::StartsWith("nobody answers at [fd77::1]:29400 for 5 s: this node has loopback "
                               "addresses only, so another one must host"));
}

TEST_CASE("of a list every place is named, with what it is here", "[links]") {
  auto endpoint = head();
  endpoint.places.push_back({"second", 29401, {"10.9.0.2", "fd09::2"}});
  CHECK_THAT(nobody_answers_line(endpoint, 5s),
             Catch::StartsWith("nobody answers at head:29400,second:29401 for 5 s: head is "
                               "10.9.0.1, second is 10.9.0.2, fd09::2 here; this node has "));
}

TEST_CASE("who calls for another reason than its addresses gives that one", "[links]") {
  auto endpoint = head();
  endpoint.reason = NotHosting::told;
  CHECK_THAT(nobody_answers_line(endpoint, 5s), Catch::Contains("is_host=0"));
  endpoint.reason = NotHosting::not_rank_zero;
  CHECK_THAT(nobody_answers_line(endpoint, 5s), Catch::Contains("start the node of rank 0"));
  endpoint.reason = NotHosting::port_taken;
  CHECK_THAT(nobody_answers_line(endpoint, 5s), Catch::Contains("has port 29400"));
}
