// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/prober.hpp"

#include "rendezvous/membership/lease.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/wire/greeting.hpp"

#include <string>
#include <string_view>

namespace muster::net {
namespace {

using membership::ProbeFailure;
using membership::ProbeTarget;
using membership::seconds_text;

constexpr std::size_t kAtOnce = 64;  // sockets
constexpr std::string_view kPing = "\x0dhere";
constexpr std::string_view kTurnedAway =
    "its store closed the connection: it takes the addresses of members, and this node calls by "
    "another, be it translated on its way (--open-store there lets everybody in)";

}  // namespace

class Prober::Run {
 public:
  using Ptr = std::shared_ptr<Run>;

  Run(asio::io_context& io, std::vector<ProbeTarget> targets, Duration patience, Report report)
      : io_(io),
        targets_(std::move(targets)),
        patience_(patience),
        report_(std::move(report)),
        errors_(targets_.size()),
        timer_(io) {}

  static void begin(Ptr const& self);
  void drop();

 private:
  // One attempt at one target; the socket closes as soon as it is connected, or the store answered.
  struct Attempt {
    Attempt(asio::io_context& io, std::size_t target) : index(target), socket(io), resolver(io) {}
    std::size_t index;
    tcp::socket socket;
    tcp::resolver resolver;
    std::string answer;
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  static void fill(Ptr const& self);
  static void resolve(Ptr const& self, AttemptPtr const& attempt);
  static void connect(Ptr const& self, AttemptPtr const& attempt,
                      std::vector<tcp::endpoint> const& endpoints);
  static void ask(Ptr const& self, AttemptPtr const& attempt);
  static void ended(Ptr const& self, AttemptPtr const& attempt, std::string error);
  static void time_is_over(Ptr const& self);
  static void finish(Ptr const& self);
  void close_all();

  asio::io_context& io_;
  std::vector<ProbeTarget> targets_;
  Duration patience_;
  Report report_;
  std::vector<std::string> errors_;  // by target; "" where it was reached
  asio::steady_timer timer_;
  std::vector<AttemptPtr> open_;
  std::size_t next_ = 0;
  bool over_ = false;
};

void Prober::Run::begin(Ptr const& self) {
  self->timer_.expires_after(self->patience_);
  self->timer_.async_wait([self](error_code const& ec) {
    if (!ec) time_is_over(self);
  });
  fill(self);
}

void Prober::Run::drop() {
  over_ = true;
  report_ = nullptr;
  timer_.cancel();
  close_all();
}

void Prober::Run::close_all() {
  for (auto const& attempt : open_) {
    error_code ignored;
    attempt->resolver.cancel();
    attempt->socket.close(ignored);
  }
  open_.clear();
}

void Prober::Run::fill(Ptr const& self) {
  while (self->open_.size() < kAtOnce && self->next_ < self->targets_.size()) {
    auto const attempt = std::make_shared<Attempt>(self->io_, self->next_++);
    self->open_.push_back(attempt);
    auto const& target = self->targets_[attempt->index];
    error_code named;
    auto const address = asio::ip::make_address(target.address, named);
    if (named)
      resolve(self, attempt);
    else
      connect(self, attempt, {tcp::endpoint(address, target.port)});
  }
  if (self->open_.empty()) finish(self);
}

void Prober::Run::resolve(Ptr const& self, AttemptPtr const& attempt) {
  auto const& target = self->targets_[attempt->index];
  attempt->resolver.async_resolve(
      target.address, std::to_string(target.port), tcp::resolver::numeric_service,
      [self, attempt](error_code const& ec, tcp::resolver::results_type const& found) {
        if (self->over_) return;
        if (ec) return ended(self, attempt, "resolve: " + ec.message());
        std::vector<tcp::endpoint> endpoints;
        for (auto const& entry : found) endpoints.push_back(entry.endpoint());
        connect(self, attempt, endpoints);
      });
}

void Prober::Run::connect(Ptr const& self, AttemptPtr const& attempt,
                          std::vector<tcp::endpoint> const& endpoints) {
  asio::async_connect(attempt->socket, endpoints,
                      [self, attempt](error_code const& ec, tcp::endpoint const&) {
                        if (self->over_) return;
                        if (!ec && self->targets_[attempt->index].is_store)
                          return ask(self, attempt);
                        ended(self, attempt, ec ? "connect: " + ec.message() : "");
                      });
  if (attempt->socket.is_open()) close_on_exec(attempt->socket.native_handle());
}

// A store that does not take us closes at once; one that does says what it is told.
void Prober::Run::ask(Ptr const& self, AttemptPtr const& attempt) {
  auto const question = std::string(wire::kStoreGreeting) + std::string(kPing);
  error_code failed;
  asio::write(attempt->socket, asio::buffer(question), failed);  // fits the socket's buffer
  attempt->answer.resize(kPing.size() - 1);
  asio::async_read(attempt->socket, asio::buffer(attempt->answer),
                   [self, attempt](error_code const& ec, std::size_t) {
                     if (self->over_) return;
                     ended(self, attempt, ec ? std::string(kTurnedAway) : "");
                   });
}

void Prober::Run::ended(Ptr const& self, AttemptPtr const& attempt, std::string error) {
  error_code ignored;
  attempt->socket.close(ignored);
  self->errors_[attempt->index] = std::move(error);
  std::erase(self->open_, attempt);
  fill(self);
}

void Prober::Run::time_is_over(Ptr const& self) {
  if (self->over_) return;
  for (auto const& attempt : self->open_)
    self->errors_[attempt->index] = "connect: no answer within " + seconds_text(self->patience_);
  for (; self->next_ < self->targets_.size(); ++self->next_)
    self->errors_[self->next_] = "not tried: the others took " + seconds_text(self->patience_);
  self->close_all();
  finish(self);
}

void Prober::Run::finish(Ptr const& self) {
  if (std::exchange(self->over_, true)) return;
  self->timer_.cancel();
  std::vector<ProbeFailure> failures;
  for (std::size_t i = 0; i < self->targets_.size(); ++i)
    if (!self->errors_[i].empty())
      failures.push_back({self->targets_[i], std::move(self->errors_[i])});
  asio::post(self->io_, [self, failures = std::move(failures)]() mutable {
    // Dropped meanwhile: nobody waits any more.
    if (self->report_) std::exchange(self->report_, nullptr)(std::move(failures));
  });
}

Prober::Prober(asio::io_context& io) : io_(io) {}

Prober::~Prober() {
  if (run_) run_->drop();
}

void Prober::start(std::vector<ProbeTarget> targets, Duration patience, Report report) {
  if (run_) run_->drop();
  run_ = std::make_shared<Run>(io_, std::move(targets), patience, std::move(report));
  Run::begin(run_);
}

}  // namespace muster::net
