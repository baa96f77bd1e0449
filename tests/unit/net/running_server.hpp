// SPDX-License-Identifier: Apache-2.0
#pragma once
// A server on a thread of its own and raw connections to it, for the tests of net.

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/posix_stream.hpp"
#include "rendezvous/net/server.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <catch2/catch.hpp>

#include <future>
#include <optional>
#include <thread>

namespace muster::net {

inline Deadline soon() {
  return deadline_in(std::chrono::seconds(20));
}

class RunningServer {
 public:
  explicit RunningServer(ServerOptions options = {}, std::string const& host = "127.0.0.1") {
    auto acceptor = listen_on(io, host, 0);
    if (!acceptor) FAIL(to_string(acceptor.error()));
    server.emplace(*std::move(acceptor), std::move(options));
    port = server->port();
    thread_ = std::thread([this] { io.run(); });
  }
  ~RunningServer() { join(); }

  // Ends the thread; the server can be looked at then.
  void join() {
    io.stop();
    if (thread_.joinable()) thread_.join();
  }
  // Runs f on the server's thread, and waits for it.
  template <class F>
  void on_thread(F f) {
    std::atomic<bool> done = false;
    asio::post(io, [&] {
      f();
      done = true;
      done.notify_all();
    });
    done.wait(false);
  }

  asio::io_context io{1};
  std::optional<Server> server;
  std::uint16_t port = 0;

 private:
  std::thread thread_;
};

// One raw connection.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, std::string const& host = "127.0.0.1")
      : stream_(connect(host, port)) {}

  void send(std::string_view bytes) {
    auto const sent = stream_.write_all(bytes, soon());
    INFO((sent ? std::string() : to_string(sent.error())));
    REQUIRE(sent);
  }
  // On a thread of its own; the answer is for the thread of the test: Catch2's assertions are for
  // one thread at a time.
  std::future<Result<void>> send_beside(std::string const& bytes) {
    return std::async(std::launch::async,
                      [this, &bytes] { return stream_.write_all(bytes, soon()); });
  }
  void send(wire::Request const& request) {
    std::string bytes;
    wire::encode(request, bytes);
    send(bytes);
  }
  // Exactly so many bytes.
  std::string receive(std::size_t count) {
    while (input_.size() < count) REQUIRE(stream_.read_some(input_, soon()));
    auto const bytes = input_.substr(0, count);
    input_.erase(0, count);
    return bytes;
  }
  // Everything until the other side closes.
  std::string receive_all() {
    while (stream_.read_some(input_, soon()))
      ;
    return std::exchange(input_, {});
  }
  void close() { stream_.close(); }
  PosixStream& stream() { return stream_; }

 private:
  static PosixStream connect(std::string const& host, std::uint16_t port) {
    auto stream = PosixStream::connect(host, port, soon());
    if (!stream) FAIL(to_string(stream.error()));
    return *std::move(stream);
  }

  PosixStream stream_;
  std::string input_;
};

inline RawClient greeted(std::uint16_t port) {
  RawClient client(port);
  client.send(wire::Validate{});
  return client;
}

}  // namespace muster::net
