// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/http.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/net/metrics.hpp"

#include <array>
#include <deque>
#include <memory>
#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t kMaxExchanges = 64;

// One request and its answer. Lives as long as one of its handlers is pending; the timer's ends it
// where the peer does not read or write.
class Exchange {
 public:
  using Ptr = std::shared_ptr<Exchange>;

  Exchange(tcp::socket socket, std::string input, std::shared_ptr<HttpPages const> pages)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        input_(std::move(input)),
        pages_(std::move(pages)) {}

  static void start(Ptr const& self) {
    self->timer_.expires_after(limits::kGreetingDeadline);
    self->timer_.async_wait([self](error_code const& ec) {
      if (!ec) self->close();
    });
    proceed(self);
  }
  void close();

 private:
  static void proceed(Ptr const& self);
  static void answer(Ptr const& self, HttpReply const& reply, bool head_only);

  tcp::socket socket_;
  asio::steady_timer timer_;
  std::string input_, output_;
  std::array<char, 4096> chunk_{};
  std::shared_ptr<HttpPages const> pages_;
};

void Exchange::proceed(Ptr const& self) {
  auto const found = parse_http_head(self->input_);
  if (!found) return answer(self, {400, "text/plain", found.error().what + "\n"}, false);
  if (found->has_value()) return answer(self, (*self->pages_)(**found), (*found)->head_only);
  auto const buffer = asio::buffer(self->chunk_);
  self->socket_.async_read_some(buffer, [self](error_code const& ec, std::size_t count) {
    if (ec) return self->close();
    self->input_.append(self->chunk_.data(), count);
    proceed(self);
  });
}

void Exchange::answer(Ptr const& self, HttpReply const& reply, bool head_only) {
  self->output_ = to_bytes(reply, head_only);
  auto const buffer = asio::buffer(self->output_);
  asio::async_write(self->socket_, buffer, [self](error_code const&, std::size_t) {
    error_code ignored;
    self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
    self->close();
  });
}

void Exchange::close() {
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

// The latest exchanges, in the order of their beginning.
using Exchanges = std::deque<std::weak_ptr<Exchange>>;

void make_room(Exchanges& open) {
  if (open.size() < kMaxExchanges) return;
  std::erase_if(open, [](auto const& each) { return each.expired(); });
  if (open.size() < kMaxExchanges) return;
  if (auto const oldest = open.front().lock()) oldest->close();
  open.pop_front();
}

}  // namespace

Handover http_front(HttpPages pages) {
  auto const shared = std::make_shared<HttpPages const>(std::move(pages));
  auto const open = std::make_shared<Exchanges>();
  return [shared, open](tcp::socket socket, std::string input) {
    make_room(*open);
    auto const next = std::make_shared<Exchange>(std::move(socket), std::move(input), shared);
    open->push_back(next);
    Exchange::start(next);
  };
}

HttpReply store_page(HttpRequest const& request, Server const& server, JobReasons const& jobs,
                     ControlCounters const* control) {
  if (request.path == "/healthz") return {200, "text/plain; charset=utf-8", "ok\n"};
  if (request.path == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(server, control)};
  if (request.path == "/status.json") return {200, "application/json", status_json(server, jobs)};
  return {404, "text/plain; charset=utf-8", "there are /healthz, /metrics and /status.json\n"};
}

}  // namespace muster::net
