// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/host_service.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/membership/admission.hpp"
#include "rendezvous/membership/host_step.hpp"

#include <set>
#include <utility>

namespace muster::net {
namespace {

using namespace membership;

constexpr std::size_t kMaxJobs = 4096;
constexpr Duration kFlushPatience = std::chrono::seconds{1};

// The way to one member: a connection, or a function of this process.
struct Route {
  ControlConnection::Ptr connection;
  std::function<void(control::Letter)> deliver;
};

struct Job {
  explicit Job(asio::io_context& io) : timer(io) {}

  Host host;
  JobSettings settings;
  std::map<Incarnation, Route> routes;
  asio::steady_timer timer;
  std::optional<Why> why;
  bool finished = false;
  int unsent = 0;  // connections that still send what is owed
};

}  // namespace

class HostService::Body {
 public:
  Body(asio::io_context& io, HostServiceOptions given) : options(std::move(given)), io_(io) {}

  using Ptr = std::shared_ptr<Body>;
  static void take(Ptr const& self, tcp::socket socket, std::string bytes);
  static void arrived(Ptr const& self, control::Letter letter, Route route);
  void close();

  HostServiceOptions options;
  std::map<std::string, std::shared_ptr<Job>> jobs;

 private:
  // What a connection turned out to be about.
  struct Caller {
    explicit Caller(asio::io_context& io) : patience(io) {}

    asio::steady_timer patience;  // for its first letter
    std::string run_id;
    Incarnation member;
    bool known = false;
  };

  static void ended(Ptr const& self, Caller const& caller, ControlConnection::Ptr const& gone);
  static void step(Ptr const& self, std::shared_ptr<Job> const& job, HostEvent const& event);
  static void finish(Ptr const& self, std::shared_ptr<Job> const& job);
  static void set_timer(Ptr const& self, std::shared_ptr<Job> const& job, TimePoint at);
  void send(Job& job, Send const& send);
  void refuse(control::Letter const& letter, Route const& route, Error const& error);
  std::shared_ptr<Job> job_for(control::Letter const& letter, Route const& route);
  std::shared_ptr<Job> new_job(std::string const& run_id, JobSettings const& settings);

  asio::io_context& io_;
  std::set<ControlConnection::Ptr> callers_;  // every open connection
  // One count for all jobs: a job that reuses a run id gets a later one, and nothing is kept of it.
  Generation last_generation_;
};

void HostService::Body::close() {
  for (auto const& connection : callers_) connection->close();
  callers_.clear();
  for (auto const& [id, job] : jobs) job->timer.cancel();
  jobs.clear();
  options.on_why = nullptr;
  options.on_finished = nullptr;
}

void HostService::Body::take(Ptr const& self, tcp::socket socket, std::string bytes) {
  auto const connection =
      std::make_shared<ControlConnection>(std::move(socket), self->options.name);
  self->callers_.insert(connection);
  auto const caller = std::make_shared<Caller>(self->io_);
  auto const weak = std::weak_ptr<ControlConnection>(connection);
  ControlConnection::Callbacks callbacks;
  callbacks.on_letter = [self, caller, weak](control::Letter letter) {
    if (!std::exchange(caller->known, true)) {
      caller->patience.cancel();
      caller->run_id = letter.header.run_id;
      caller->member = letter.header.incarnation;
    }
    Route route;
    route.connection = weak.lock();
    // One connection speaks for one member of one job.
    if (letter.header.run_id == caller->run_id && letter.header.incarnation == caller->member)
      arrived(self, std::move(letter), std::move(route));
  };
  callbacks.on_end = [self, caller, weak](Error const& error) {
    caller->patience.cancel();
    auto const gone = weak.lock();
    auto const text =
        "control connection from " + (gone ? gone->peer_address() : "?") + ": " + to_string(error);
    auto const wrong =
        error.code == Errc::protocol || error.code == Errc::limit || error.code == Errc::refused;
    wrong ? log::warning(text) : log::info(text);
    ended(self, *caller, gone);
  };
  caller->patience.expires_after(limits::kGreetingDeadline);
  caller->patience.async_wait([self, caller, weak](error_code const& ec) {
    auto const silent = weak.lock();
    if (ec || caller->known || !silent) return;
    log::warning("control connection from " + silent->peer_address() +
                 ": closed, it did not say in time for whom it speaks");
    self->callers_.erase(silent);
    silent->close();
  });
  ControlConnection::start(connection, bytes, std::move(callbacks));
}

void HostService::Body::ended(Ptr const& self, Caller const& caller,
                              ControlConnection::Ptr const& gone) {
  self->callers_.erase(gone);
  auto const found = self->jobs.find(caller.run_id);
  if (!caller.known || found == self->jobs.end()) return;
  auto const job = found->second;
  auto const route = job->routes.find(caller.member);
  if (route == job->routes.end() || route->second.connection != gone) return;
  job->routes.erase(route);
  step(self, job, Disconnected{caller.member});
}

std::shared_ptr<Job> HostService::Body::new_job(std::string const& run_id,
                                                JobSettings const& settings) {
  auto job = std::make_shared<Job>(io_);
  last_generation_ = last_generation_.next();
  job->settings = settings;
  job->host.run_id = run_id;
  job->host.generation = last_generation_;
  job->host.epoch = Epoch{1};
  job->host.self = options.self;
  job->host.name = options.name;
  return job;
}

std::shared_ptr<Job> HostService::Body::job_for(control::Letter const& letter, Route const& route) {
  auto const& run_id = letter.header.run_id;
  if (auto const found = jobs.find(run_id); found != jobs.end()) return found->second;
  auto const* join = std::get_if<Join>(&letter.message);
  if (!join) return nullptr;
  if (options.only_run && *options.only_run != run_id) {
    refuse(letter, route,
           refuse_other_job(*options.only_run, options.name, run_id, join->facts.host));
    return nullptr;
  }
  if (jobs.size() >= kMaxJobs) {
    refuse(letter, route,
           Error{Errc::limit,
                 "host " + options.name + " already serves " + std::to_string(kMaxJobs) + " jobs",
                 "use another musterd"});
    return nullptr;
  }
  auto job = new_job(run_id, join->job);
  jobs.emplace(run_id, job);
  return job;
}

void HostService::Body::arrived(Ptr const& self, control::Letter letter, Route route) {
  auto const job = self->job_for(letter, route);
  if (!job) return;
  auto const member = letter.header.incarnation;
  Received event;
  event.seen_from = route.connection ? route.connection->peer_address() : "127.0.0.1";
  if (route.connection) event.reached_at = route.connection->local_address();
  if (std::holds_alternative<Join>(letter.message)) {
    auto& known = job->routes[member];
    if (known.connection && known.connection != route.connection) {
      known.connection->close();  // the member called again before we saw the old one end
      self->callers_.erase(known.connection);
    }
    known = std::move(route);
  }
  event.header = std::move(letter.header);
  event.message = std::move(letter.message);
  step(self, job, event);
}

void HostService::Body::step(Ptr const& self, std::shared_ptr<Job> const& job,
                             HostEvent const& event) {
  if (job->finished) {
    // Whoever asks now has missed the end: it is told once more.
    if (!std::holds_alternative<Received>(event)) return;
  }
  auto const time = now();
  auto result = host_step(job->host, event, time, job->settings);
  for (auto const& sent : result.sends) self->send(*job, sent);
  if (!job->why || !(*job->why == result.why)) {
    job->why = result.why;
    if (self->options.on_why) self->options.on_why(job->host.run_id, result.why, time);
  }
  if (result.finished && !job->finished) return finish(self, job);
  if (!job->finished) set_timer(self, job, result.wake_at);
}

void HostService::Body::set_timer(Ptr const& self, std::shared_ptr<Job> const& job, TimePoint at) {
  if (at == TimePoint::max()) {
    job->timer.cancel();
    return;
  }
  job->timer.expires_after(Deadline{at}.left(now()));
  job->timer.async_wait([self, job](error_code const& ec) {
    if (!ec && !job->finished) step(self, job, Tick{});
  });
}

void HostService::Body::send(Job& job, Send const& sent) {
  auto const found = job.routes.find(sent.to);
  if (found == job.routes.end()) return;  // it calls again, and is told what it lacks
  control::Letter letter{{job.host.run_id, job.host.generation, job.host.epoch,
                          last_round(job.host), job.host.self, 0},
                         sent.message};
  auto const route = found->second;
  if (route.connection) {
    ControlConnection::send(route.connection, std::move(letter));
    if (std::holds_alternative<Refused>(sent.message)) {
      ControlConnection::finish(route.connection);
      callers_.erase(route.connection);
      job.routes.erase(found);
    }
  } else if (route.deliver) {
    asio::post(io_, [deliver = route.deliver, letter = std::move(letter)] { deliver(letter); });
  }
}

void HostService::Body::refuse(control::Letter const& letter, Route const& route,
                               Error const& error) {
  control::Letter answer{
      {letter.header.run_id, letter.header.generation, letter.header.epoch, {}, options.self, 0},
      Refused{error.code, error.what, error.hint}};
  if (!route.connection) return;
  log::warning("refused " + route.connection->peer_address() + ": " + to_string(error));
  ControlConnection::send(route.connection, std::move(answer));
  ControlConnection::finish(route.connection);
  callers_.erase(route.connection);
}

// Members hang up when they have heard the outcome; those that do not get a moment to be sent it.
void HostService::Body::finish(Ptr const& self, std::shared_ptr<Job> const& job) {
  job->finished = true;
  for (auto const& [id, route] : job->routes)
    if (route.connection) ControlConnection::finish(route.connection);
  auto const deadline = deadline_in(kFlushPatience);
  auto const poll = std::make_shared<std::function<void()>>();
  std::weak_ptr<std::function<void()>> const again = poll;
  *poll = [self, job, deadline, again] {
    auto open = false;
    for (auto const& [id, route] : job->routes)
      open = open || (route.connection && route.connection->is_open());
    if (open && !deadline.passed(now())) {
      job->timer.expires_after(std::chrono::milliseconds{5});
      job->timer.async_wait([call = again.lock()](error_code const& ec) {
        if (!ec && call) (*call)();
      });
      return;
    }
    for (auto const& [id, route] : job->routes) {
      if (route.connection) route.connection->close();
      self->callers_.erase(route.connection);
    }
    auto const run_id = job->host.run_id;
    auto const found = self->jobs.find(run_id);
    if (found != self->jobs.end() && found->second == job && !self->options.only_run)
      self->jobs.erase(found);
    if (self->options.on_finished) self->options.on_finished(run_id);
  };
  asio::post(self->io_, [poll] { (*poll)(); });
}

HostService::HostService(asio::io_context& io, HostServiceOptions options)
    : body_(std::make_shared<Body>(io, std::move(options))) {}

HostService::~HostService() {
  body_->close();
}

void HostService::take(tcp::socket socket, std::string bytes) {
  Body::take(body_, std::move(socket), std::move(bytes));
}

void HostService::local_letter(control::Letter letter,
                               std::function<void(control::Letter)> deliver) {
  Route route;
  route.deliver = std::move(deliver);
  Body::arrived(body_, std::move(letter), std::move(route));
}

std::size_t HostService::jobs() const {
  return body_->jobs.size();
}

std::map<std::string, membership::Why> HostService::reasons() const {
  std::map<std::string, Why> reasons;
  for (auto const& [run_id, job] : body_->jobs)
    if (job->why) reasons.emplace(run_id, *job->why);
  return reasons;
}

}  // namespace muster::net
