// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/remote_link.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"

namespace muster::launch {
namespace {

namespace member = membership::member;

constexpr Duration kResolveAgain = std::chrono::milliseconds{500};
// Somebody on this machine has the port: if it is a muster, it greets at once.
constexpr Duration kNeighbourGreets = std::chrono::milliseconds{900};
// Beyond the time that the host gives its members to acknowledge the outcome.
constexpr Duration kHostGoesAnyway = std::chrono::seconds{2};

std::string endpoint_text(RemoteLinkOptions const& options) {
  auto const v6 = options.host.find(':') != std::string::npos;
  return (v6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

}  // namespace

RemoteLink::RemoteLink(net::asio::io_context& io, RemoteLinkOptions options)
    : io_(io),
      options_(std::move(options)),
      resolver_(io),
      timer_(io),
      retry_(io),
      member_(make_member(options_.facts, options_.job, options_.run_id, options_.backend,
                          endpoint_text(options_)),
              make_shell()) {
  if (options_.job.store_at_endpoint) member_.use_master(options_.host, options_.port);
}

Post RemoteLink::poster() {
  return [this, alive = std::weak_ptr<bool>(alive_)](std::function<void()> call) {
    net::asio::post(io_, [alive, call = std::move(call)] {
      if (!alive.expired()) call();
    });
  };
}

LinkMember::Shell RemoteLink::make_shell() {
  LinkMember::Shell shell;
  shell.post = poster();
  shell.say = [this](membership::Header header, membership::Message message) {
    say(std::move(header), std::move(message));
  };
  shell.wake_at = [this](TimePoint at) { wake_at(at); };
  shell.concluded = [this](Outcome const& outcome) {
    finish([this, outcome] { listener_->on_outcome(outcome); });
  };
  shell.gave_up = [this](Error const& error) { fail(error); };
  if (options_.job.store_at_endpoint)
    shell.open_store = [this](RoundNumber) -> Result<std::uint16_t> {
      servers_.front().renew_keys();
      return options_.port;
    };
  return shell;
}

bool RemoteLink::must_host() const {
  return options_.is_host.value_or(options_.job.given_ranks && options_.facts.given_rank == 0);
}

bool RemoteLink::may_host() const {
  if (must_host()) return true;
  return !options_.is_host && !options_.job.given_ranks;
}

void RemoteLink::join(MembershipListener& listener) {
  listener_ = &listener;
  member_.start(listener);
  if (may_host())
    resolve_and_bind();
  else
    call();
}

void RemoteLink::workers_failed(WorkerFailure failure) {
  member_.workers_failed(std::move(failure));
}

void RemoteLink::workers_done(RoundNumber round) {
  member_.post_event(member::WorkersDone{round});
}

void RemoteLink::stopped(RoundNumber round) {
  member_.post_event(member::WorkersStopped{round});
}

void RemoteLink::leave(int exit_code, std::string why) {
  member_.post_event(member::LeaveWanted{membership::Leave{exit_code, std::move(why)}});
}

void RemoteLink::resolve_and_bind() {
  if (std::exchange(resolving_, true)) return;
  resolver_.async_resolve(
      options_.host, std::to_string(options_.port), net::tcp::resolver::numeric_service,
      [this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec, auto const& found) {
        if (alive.expired()) return;
        std::vector<std::string> addresses;
        for (auto const& entry : found) addresses.push_back(entry.endpoint().address().to_string());
        resolving_ = false;
        resolved(ec, std::move(addresses));
      });
}

void RemoteLink::resolved(net::error_code const& ec, std::vector<std::string> addresses) {
  if (over_ || service_) return;
  if (ec) {
    problem(net::unresolved(options_.host, ec));
    if (!over_) resolve_later();
    return;
  }
  auto candidates = bind_addresses(options_.host, options_.facts.host, std::move(addresses));
  // One store, one listener: with several addresses, all of them.
  if (options_.job.store_at_endpoint && candidates.size() > 1) candidates = {""};
  auto bound = bind_endpoint(io_, candidates, options_.port);
  if (must_host() && std::holds_alternative<NotOurs>(bound))
    bound = bind_endpoint(io_, {""}, options_.port);
  if (auto* acceptors = std::get_if<Bound>(&bound)) return host(std::move(*acceptors));
  if (auto* error = std::get_if<Error>(&bound)) return fail(*error);
  in_use_ = std::holds_alternative<InUse>(bound);
  if (must_host())
    return fail({Errc::address_in_use,
                 "cannot host the rendezvous at " + endpoint_text(options_) +
                     ": another program listens there",
                 "stop it, or choose another port with --rdzv-endpoint or --master-port"});
  call();
}

void RemoteLink::resolve_later() {
  retry_.expires_after(kResolveAgain);
  retry_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) resolve_and_bind();
  });
}

void RemoteLink::host(Bound acceptors) {
  if (dialer_) dialer_->stop();
  net::HostServiceOptions serving;
  serving.name = options_.facts.host;
  serving.self = options_.facts.incarnation;
  serving.only_run = options_.run_id;
  serving.on_why = [](std::string const& run_id, membership::Why const& why, TimePoint time) {
    log::info("run " + run_id + ": " + membership::explain(why, time));
  };
  serving.on_finished = [this](std::string const&) {
    service_over_ = true;
    if (deliver_) poster()(std::exchange(deliver_, nullptr));
  };
  service_.emplace(io_, std::move(serving));
  for (auto& acceptor : acceptors) {
    net::ServerOptions server;
    server.on_control = [this](net::tcp::socket socket, std::string bytes) {
      service_->take(std::move(socket), std::move(bytes));
    };
    servers_.emplace_back(std::move(acceptor), std::move(server));
  }
  log::info("this node hosts the rendezvous at " + endpoint_text(options_));
  member_.post_event(member::Connected{});
}

void RemoteLink::call() {
  if (dialer_ || over_) return;
  net::Dialer::Callbacks callbacks;
  callbacks.on_connected = [this](net::ControlConnection::Ptr const& connection) {
    connection_ = connection;
    member_.event(member::Connected{});
  };
  callbacks.on_letter = [this](control::Letter letter) {
    if (auto const* note = std::get_if<membership::Waiting>(&letter.message))
      log::info("waiting for nodes: " + std::to_string(note->have) + " of at least " +
                std::to_string(note->min_nodes) + " are here");
    member_.event(member::Heard{std::move(letter.header), std::move(letter.message)});
  };
  callbacks.on_disconnected = [this] {
    connection_.reset();
    member_.event(member::Disconnected{});
  };
  callbacks.on_problem = [this](Error const& error) { problem(error); };
  callbacks.on_refused = [this](Error const& error) {
    if (error.code == Errc::refused || !in_use_) return fail(error);
    fail({Errc::address_in_use, endpoint_text(options_) + " is taken: " + error.what,
          "stop that program, or choose another port with --rdzv-endpoint"});
  };
  dialer_.emplace(io_, options_.host, options_.port, options_.facts.host, std::move(callbacks));
  if (in_use_) dialer_->set_greeting_patience(kNeighbourGreets);
  dialer_->start();
}

void RemoteLink::problem(Error const& error) {
  auto const known = member_.state().welcome;
  auto const unheard = error.code == Errc::not_found || error.code == Errc::timeout;
  auto const hopeless = error.code == Errc::not_found && !options_.waits_for_name;
  if (!known && (hopeless || (unheard && can_never_resolve(options_.host)))) return fail(error);
  if (!last_problem_ && unheard)
    log::warning(to_string(error) + "; trying again until the join time is over");
  last_problem_ = error;
  // Nobody answers: the endpoint may have become ours to host (an agent beside us is gone, a name
  // points to us at last). Not once a host was heard: its job is not ours to begin anew.
  if (dialer_ && may_host() && !known) resolve_and_bind();
}

void RemoteLink::say(membership::Header header, membership::Message message) {
  control::Letter letter{std::move(header), std::move(message)};
  if (service_) {
    service_->local_letter(
        std::move(letter), [this, alive = std::weak_ptr<bool>(alive_)](control::Letter answer) {
          if (!alive.expired())
            member_.event(member::Heard{std::move(answer.header), std::move(answer.message)});
        });
  } else if (connection_) {
    net::ControlConnection::send(connection_, std::move(letter));
  }
}

void RemoteLink::wake_at(TimePoint at) {
  timer_.expires_after(Deadline{at}.left(now()));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) member_.event(member::Tick{});
  });
}

// A host leaves last: its own agent hears the end when all others were told, or had their time.
void RemoteLink::finish(std::function<void()> deliver) {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  if (!service_ || service_over_) return poster()(std::move(deliver));
  deliver_ = std::move(deliver);
  retry_.expires_after(options_.job.outcome_patience + kHostGoesAnyway);
  retry_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired() && deliver_) std::exchange(deliver_, nullptr)();
  });
}

void RemoteLink::fail(Error const& error) {
  auto const shown = with_last_problem(error);
  auto const hosted_job = service_ && service_->jobs() > 0;
  if (!hosted_job) service_over_ = true;  // nobody to tell
  finish([this, shown] { listener_->on_error(shown); });
}

Error RemoteLink::with_last_problem(Error error) const {
  if (error.code == Errc::rendezvous_timeout && last_problem_ && !member_.state().welcome)
    error.what += " (" + last_problem_->what + ")";
  return error;
}

}  // namespace muster::launch
