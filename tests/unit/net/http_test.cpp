// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/http.hpp"

#include "tests/unit/net/running_server.hpp"

#include <nlohmann/json.hpp>

using namespace muster;
using namespace muster::net;

namespace {

// A server that answers HTTP about itself.
struct Served {
  Served() {
    ServerOptions options;
    options.on_http = http_front(
        [this](HttpRequest const& r) { return store_page(r, *running->server, jobs, &control); });
    running.emplace(std::move(options));
  }
  std::string get(std::string_view path, std::string_view method = "GET") {
    RawClient client(running->port);
    client.send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\n");
    client.send("Host: here\r\n\r\n");
    return client.receive_all();
  }
  JobReasons const jobs{{"job7", membership::why::WaitingForNodes{1, 2, 4}}};
  ControlCounters const control{3, 2, {}};
  std::optional<RunningServer> running;
};

std::string body_of(std::string const& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace

TEST_CASE("healthz is ok, other paths are not found", "[net]") {
  Served served;
  CHECK_THAT(served.get("/healthz"), Catch::StartsWith("HTTP/1.1 200 OK"));
  CHECK(body_of(served.get("/healthz")) == "ok\n");
  CHECK(body_of(served.get("/healthz", "HEAD")).empty());
  CHECK_THAT(served.get("/other"), Catch::StartsWith("HTTP/1.1 404"));
  CHECK_THAT(served.get("/with space"), Catch::StartsWith("HTTP/1.1 400"));
}

TEST_CASE("metrics and status tell what the store holds, who waits, and where jobs stand",
          "[net]") {
  Served served;
  auto client = greeted(served.running->port), waiter = greeted(served.running->port);
  std::string storage;
  std::vector<std::string> const keys{"/nobody \"sets\" \xff"};
  waiter.send(wire::Wait{wire::encode_list(keys, storage)});
  client.send(wire::Set{"/k", "12345"});
  client.send(wire::Ping{1});
  client.receive(4);
  auto const deadline = soon();
  nlohmann::json status;
  do {
    REQUIRE_FALSE(deadline.passed(now()));
    status = nlohmann::json::parse(body_of(served.get("/status.json")));
  } while (status["waiters"] != 1);
  CHECK(status["keys"] == 1);
  CHECK(status["connections"] == 2);
  CHECK(status["waited_keys"][0]["waiters"] == 1);
  CHECK(status["requests"]["set"] == 1);
  CHECK(status["jobs"]["job7"]["state"] == "waiting_for_nodes");
  auto const metrics = body_of(served.get("/metrics"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_store_keys 1\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_store_value_bytes 5\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_store_waiters 1\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_connections 2\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_control_newcomers 2\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_control_ends_total{reason=\"token\"} 0\n"));
  CHECK_THAT(metrics, Catch::Contains("\nmuster_store_requests_total{type=\"set\"} 1\n"));
  CHECK_THAT(metrics, Catch::Contains("muster_store_wake_seconds_bucket{le=\"+Inf\"} 0\n"));
}
