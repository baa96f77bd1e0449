// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/metrics.hpp"

#include <sstream>

namespace muster::net {
namespace {

class Text {
 public:
  void number(std::string_view name, std::string_view kind, std::string_view help,
              std::uint64_t value) {
    head(name, kind, help);
    out_ << name << ' ' << value << '\n';
  }
  void head(std::string_view name, std::string_view kind, std::string_view help) {
    out_ << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << kind << '\n';
  }
  void labelled(std::string_view name, std::string_view label, std::string_view value,
                std::uint64_t count) {
    out_ << name << '{' << label << "=\"" << value << "\"} " << count << '\n';
  }
  std::ostringstream& out() { return out_; }
  std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

void write_requests(Text& text, store::Counters const& counters) {
  constexpr std::string_view kName = "muster_store_requests_total";
  text.head(kName, "counter", "Requests by type.");
  for (std::size_t i = 0; i < wire::kOpcodeCount; ++i)
    text.labelled(kName, "type", wire::kOpcodeNames[i], counters.requests[i]);
}

void write_wakes(Text& text, WakeHistogram const& wake) {
  constexpr std::string_view kName = "muster_store_wake_seconds";
  text.head(kName, "histogram",
            "From the request that ends a wait to the waiter's byte in the kernel.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < WakeHistogram::kBounds.size(); ++i) {
    below += wake.buckets()[i];
    text.out() << kName << "_bucket{le=\"" << seconds(WakeHistogram::kBounds[i]) << "\"} " << below
               << '\n';
  }
  text.out() << kName << "_bucket{le=\"+Inf\"} " << wake.count() << '\n'
             << kName << "_sum " << seconds(wake.sum()) << '\n'
             << kName << "_count " << wake.count() << '\n';
}

void write_contents(Text& text, Server const& server) {
  auto const& engine = server.engine();
  auto const& counters = engine.counters();
  text.number("muster_store_keys", "gauge", "Keys that exist.", engine.key_count());
  text.number("muster_store_key_bytes", "gauge", "Bytes of their names.", counters.key_bytes);
  text.number("muster_store_value_bytes", "gauge", "Bytes of their values.", counters.value_bytes);
  text.number("muster_store_queues", "gauge", "Queues that are not empty.",
              engine.queues().count());
  text.number("muster_store_queued_values", "gauge", "Values in them.", counters.queued_values);
  text.number("muster_store_queued_bytes", "gauge", "Bytes of these.", counters.queued_bytes);
  text.number("muster_store_waiters", "gauge", "Waits that are pending.", engine.waiters().waits());
  text.number("muster_store_wakes_total", "counter", "Waits that ended with their keys.",
              counters.wakes);
  text.number("muster_store_cancels_total", "counter", "Waits that their client gave up.",
              counters.cancels);
}

void write_connections(Text& text, Server const& server) {
  auto const& counters = server.counters();
  text.number("muster_connections", "gauge", "Open connections.", server.connections());
  text.number("muster_connections_total", "counter", "Connections accepted.", counters.accepted);
  text.number("muster_accept_failures_total", "counter", "Times that accepting failed.",
              counters.accept_failures);
  text.number("muster_bytes_received_total", "counter", "Bytes of requests.", counters.bytes_in);
  text.number("muster_bytes_sent_total", "counter", "Bytes of replies.", counters.bytes_out);
  text.number("muster_client_pauses_total", "counter",
              "Times that a client was not read because it did not read.", counters.paused);
  text.number("muster_client_holds_total", "counter",
              "Times that a client was not read because half requests held much memory.",
              counters.held_back);
  constexpr std::string_view kRefused = "muster_connections_refused_total";
  text.head(kRefused, "counter", "Connections closed by the server, by reason.");
  each_refusal(counters, [&text, kRefused](std::string_view reason, std::uint64_t count) {
    text.labelled(kRefused, "reason", reason, count);
  });
  constexpr std::string_view kHanded = "muster_connections_handed_over_total";
  text.head(kHanded, "counter", "Connections of another protocol than TCPStore.");
  text.labelled(kHanded, "protocol", "control", counters.control_connections);
  text.labelled(kHanded, "protocol", "http", counters.http_connections);
}

void write_control(Text& text, ControlCounters const& control) {
  text.number("muster_control_newcomers", "gauge",
              "Control connections of which no message has come.", control.newcomers);
  text.number("muster_control_connections_total", "counter", "Control connections accepted.",
              control.accepted);
  constexpr std::string_view kEnded = "muster_control_ends_total";
  text.head(kEnded, "counter", "Control connections that ended by themselves, by reason.");
  for (std::size_t i = 0; i < control.ended.size(); ++i)
    text.labelled(kEnded, "reason", control::kFaultNames[i], control.ended[i]);
}

}  // namespace

std::string metrics_text(Server const& server, ControlCounters const* control) {
  Text text;
  write_connections(text, server);
  if (control) write_control(text, *control);
  write_contents(text, server);
  write_requests(text, server.engine().counters());
  write_wakes(text, server.counters().wake);
  return text.str();
}

}  // namespace muster::net
