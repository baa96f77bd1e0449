// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/host_service.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/membership/admission.hpp"
#include "rendezvous/net/callers.hpp"
#include "rendezvous/net/complaints.hpp"
#include "rendezvous/net/hosted_job.hpp"
#include "rendezvous/net/moved_jobs.hpp"
#include "rendezvous/net/past_jobs.hpp"

#include <utility>

namespace muster::net {
namespace {

using namespace membership;

constexpr std::size_t kMaxJobs = 4096;

// An agent is spoken to as a voter also where it hosts.
bool is_for_voter(Message const& message) {
  return std::holds_alternative<Ask>(message) || std::holds_alternative<VoteRequest>(message);
}

// A generation that no daemon has used before, also one that was here before a restart.
Generation newest_generation(Generation above) {
  constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
  auto const by_clock = static_cast<std::uint64_t>(wall_clock_ns() / kNanosecondsPerMillisecond);
  return std::max(above.next(), Generation{by_clock});
}

}  // namespace

class HostService::Body {
 public:
  Body(asio::io_context& io, HostServiceOptions given)
      : options(std::move(given)), io_(io), patience_(io) {}

  using Ptr = std::shared_ptr<Body>;
  static void listen(Ptr const& self);
  static void arrived(Ptr const& self, control::Letter letter, Route route);
  static void adopt(Ptr const& self, Host host, JobSettings const& settings);
  static void resign(Ptr const& self, Duration patience, std::function<void()> done);
  void reply(Incarnation to, control::Letter letter);
  void close();

  HostServiceOptions options;
  std::map<std::string, HostedJob::Ptr> jobs;
  std::optional<Callers> callers;
  // One count for all jobs: a job that reuses a run id gets a later one, and nothing is kept of it.
  Generation last_generation;

 private:
  static void ended(Ptr const& self, ControlConnection::Ptr const& gone, Header const& speaker);
  static HostedJob::Callbacks job_callbacks(Ptr const& self);
  static HostedJob::Ptr begin_job(Ptr const& self, control::Letter const& letter,
                                  Route const& route);
  static HostedJob::Ptr make_job(Ptr const& self, Host host, JobSettings const& settings);
  void over(HostedJob::Ptr const& job, std::optional<HostIs> const& successor);
  void told(HostedJob const& job, std::optional<HostIs> const& successor);
  bool may_begin(control::Letter const& letter, Route const& route);
  void refuse(control::Letter const& letter, Route const& route, Error const& error);
  bool is_past(control::Letter const& letter, Route const& route);
  void not_hosted(control::Letter letter, Route const& route);
  void look_for_rest();

  asio::io_context& io_;
  asio::steady_timer patience_;
  Complaints complaints_;  // about those who are refused
  int flushing_ = 0;       // jobs that are over here, whose members are still being told
  std::function<void()> on_rest_;
  MovedJobs moved_;
  PastJobs past_;
  std::map<Incarnation, ControlConnection::Ptr>
      spoke_;  // whose letter went to on_other last, where
};

void HostService::Body::close() {
  for (auto const& [id, job] : jobs) job->drop();
  callers.reset();
  spoke_.clear();
  jobs.clear();
  options.on_why = nullptr;
  options.on_finished = nullptr;
  options.on_other = nullptr;
  on_rest_ = nullptr;
  patience_.cancel();
}

void HostService::Body::listen(Ptr const& self) {
  Callers::Callbacks callbacks;
  auto const weak = std::weak_ptr<Body>(self);
  callbacks.on_letter = [weak](ControlConnection::Ptr const& from, control::Letter letter) {
    if (auto const body = weak.lock()) arrived(body, std::move(letter), Route{from, nullptr});
  };
  callbacks.on_end = [weak](ControlConnection::Ptr const& gone, Header const& speaker) {
    if (auto const body = weak.lock()) ended(body, gone, speaker);
  };
  ControlSide side(self->options.name);
  side.security = self->options.security;
  self->callers.emplace(self->io_, std::move(side), self->options.bounds, std::move(callbacks));
}

void HostService::Body::ended(Ptr const& self, ControlConnection::Ptr const& gone,
                              Header const& speaker) {
  auto const spoke = self->spoke_.find(speaker.incarnation);
  if (spoke != self->spoke_.end() && spoke->second == gone) self->spoke_.erase(spoke);
  auto const found = self->jobs.find(speaker.run_id);
  if (found == self->jobs.end()) return;
  HostedJob::ended(HostedJob::Ptr(found->second), gone, speaker.incarnation);
}

// Letters.

void HostService::Body::arrived(Ptr const& self, control::Letter letter, Route route) {
  if (self->is_past(letter, route)) return;
  if (route.connection && letter.header.incarnation == self->options.self) {
    // It says that it is this very process, whose own member needs no connection.
    return self->callers->finish(route.connection);
  }
  auto const found = self->jobs.find(letter.header.run_id);
  auto job = found == self->jobs.end() ? nullptr : found->second;
  if (!job) job = begin_job(self, letter, route);
  if (!job || (self->options.on_other && is_for_voter(letter.message)))
    return self->not_hosted(std::move(letter), route);
  HostedJob::arrived(job, std::move(letter), std::move(route));
}

HostedJob::Ptr HostService::Body::begin_job(Ptr const& self, control::Letter const& letter,
                                            Route const& route) {
  if (!self->may_begin(letter, route)) return nullptr;
  self->last_generation = newest_generation(self->last_generation);
  Host host;
  host.run_id = letter.header.run_id;
  host.generation = self->last_generation;
  host.epoch = Epoch{1};
  host.self = self->options.self;
  host.name = self->options.name;
  auto const job = make_job(self, std::move(host), std::get<Join>(letter.message).job);
  self->jobs.emplace(letter.header.run_id, job);
  return job;
}

bool HostService::Body::may_begin(control::Letter const& letter, Route const& route) {
  auto const& run_id = letter.header.run_id;
  auto const* join = std::get_if<Join>(&letter.message);
  if (!join) return false;
  if (options.only_run && *options.only_run != run_id) {
    refuse(letter, route,
           refuse_other_job(*options.only_run, options.name, run_id, join->facts.host));
    return false;
  }
  if (!options.begins_jobs || moved_.find(run_id, now())) return false;
  if (jobs.size() < kMaxJobs) return true;
  refuse(letter, route,
         Error{Errc::limit,
               "host " + options.name + " already serves " + std::to_string(kMaxJobs) + " jobs",
               "use another musterd"});
  return false;
}

// A member of a job that is over here, which has missed the end: it is told. The id may have a new
// life by now, which is none of its business.
bool HostService::Body::is_past(control::Letter const& letter, Route const& route) {
  if (!std::holds_alternative<Join>(letter.message) || !route.connection) return false;
  auto const* past = past_.find(letter.header.run_id, letter.header.generation, now());
  if (past == nullptr) return false;
  ControlConnection::send(route.connection, {past->header, past->outcome});
  ControlConnection::send(route.connection, {past->header, Released{}});
  callers->finish(route.connection);
  return true;
}

// An agent's member answers for itself; a daemon says who has the job, if it was told.
void HostService::Body::not_hosted(control::Letter letter, Route const& route) {
  if (!route.connection || !route.connection->is_open()) return;
  auto const& run_id = letter.header.run_id;
  if (options.only_run && *options.only_run != run_id) return;
  if (options.on_other) {
    spoke_[letter.header.incarnation] = route.connection;
    return options.on_other(std::move(letter));
  }
  if (auto const* is = std::get_if<HostIs>(&letter.message)) return moved_.note(run_id, *is, now());
  auto const lease = std::holds_alternative<Lease>(letter.message);
  if (!std::holds_alternative<Join>(letter.message) && !lease) return;
  auto const to = moved_.find(run_id, now());
  if (!to) return lease ? callers->finish(route.connection) : void();
  Header const header{run_id, to->generation, to->epoch, {}, options.self, 0};
  ControlConnection::send(route.connection, {header, *to});
}

void HostService::Body::reply(Incarnation to, control::Letter letter) {
  auto const found = spoke_.find(to);
  if (found != spoke_.end()) ControlConnection::send(found->second, letter);
}

void HostService::Body::refuse(control::Letter const& letter, Route const& route,
                               Error const& error) {
  control::Letter answer{
      {letter.header.run_id, letter.header.generation, letter.header.epoch, {}, options.self, 0},
      Refused{error.code, error.what, error.hint}};
  if (!route.connection) return;
  auto const& caller = route.connection->peer_address();
  auto const text = "refused " + caller + ": " + to_string(error);
  if (complaints_.shows(0, caller, now()))
    log::warning(text + " (further ones are not shown)");
  else
    log::debug(text);
  ControlConnection::send(route.connection, answer);
  callers->finish(route.connection);
}

// Jobs.

HostedJob::Callbacks HostService::Body::job_callbacks(Ptr const& self) {
  HostedJob::Callbacks callbacks;
  auto const weak = std::weak_ptr<Body>(self);
  callbacks.on_why = [weak](HostedJob const& job, TimePoint time) {
    auto const body = weak.lock();
    if (body && body->options.on_why) body->options.on_why(job.host().run_id, *job.why(), time);
  };
  callbacks.on_outcome = [weak](PastJob past, TimePoint time) {
    if (auto const body = weak.lock()) body->past_.note(std::move(past), time);
  };
  callbacks.on_over = [weak](HostedJob::Ptr const& job, std::optional<HostIs> const& successor) {
    if (auto const body = weak.lock()) body->over(job, successor);
  };
  callbacks.on_told = [weak](HostedJob const& job, std::optional<HostIs> const& successor) {
    if (auto const body = weak.lock()) body->told(job, successor);
  };
  return callbacks;
}

HostedJob::Ptr HostService::Body::make_job(Ptr const& self, Host host,
                                           JobSettings const& settings) {
  return std::make_shared<HostedJob>(self->io_, *self->callers, std::move(host), settings,
                                     job_callbacks(self));
}

void HostService::Body::adopt(Ptr const& self, Host host, JobSettings const& settings) {
  auto const job = make_job(self, std::move(host), settings);
  self->last_generation = std::max(self->last_generation, job->host().generation);
  // An older reign of the same process: its members must join the new one.
  if (auto const before = std::exchange(self->jobs[job->host().run_id], job)) before->drop();
  HostedJob::step(job, Tick{});
}

// From now on callers of that job are not for this host any more.
void HostService::Body::over(HostedJob::Ptr const& job, std::optional<HostIs> const& successor) {
  if (options.only_run) options.begins_jobs = false;
  auto const run_id = job->host().run_id;
  if (auto const found = jobs.find(run_id); found != jobs.end() && found->second == job)
    jobs.erase(found);
  if (successor) moved_.note(run_id, *successor, now());
  ++flushing_;
}

void HostService::Body::told(HostedJob const& job, std::optional<HostIs> const& successor) {
  --flushing_;
  if (options.on_finished) options.on_finished(job.host().run_id, successor);
  look_for_rest();
}

void HostService::Body::resign(Ptr const& self, Duration patience, std::function<void()> done) {
  self->options.begins_jobs = false;
  self->on_rest_ = std::move(done);
  auto const jobs = self->jobs;  // those that end are taken out
  for (auto const& [run_id, job] : jobs) HostedJob::step(job, ResignWanted{});
  self->patience_.expires_after(patience);
  self->patience_.async_wait([self](error_code const& ec) {
    if (!ec && self->on_rest_) std::exchange(self->on_rest_, nullptr)();
  });
  asio::post(self->io_, [self] { self->look_for_rest(); });
}

void HostService::Body::look_for_rest() {
  if (!jobs.empty() || flushing_ > 0 || !on_rest_) return;
  patience_.cancel();
  std::exchange(on_rest_, nullptr)();
}

HostService::HostService(asio::io_context& io, HostServiceOptions options)
    : body_(std::make_shared<Body>(io, std::move(options))) {
  Body::listen(body_);
}

HostService::~HostService() {
  body_->close();
}

void HostService::take(tcp::socket socket, std::string bytes) {
  body_->callers->take(std::move(socket), std::move(bytes));
}

void HostService::local_letter(control::Letter letter,
                               std::function<void(control::Letter)> deliver) {
  Body::arrived(body_, std::move(letter), Route{nullptr, std::move(deliver)});
}

void HostService::reply(Incarnation to, control::Letter letter) {
  body_->reply(to, std::move(letter));
}

void HostService::begin_jobs(Generation known) {
  body_->options.begins_jobs = true;
  body_->last_generation = std::max(body_->last_generation, known);
}

void HostService::adopt(Host host, JobSettings const& settings) {
  Body::adopt(body_, std::move(host), settings);
}

void HostService::overrule(std::string const& run_id, HostIs const& by) {
  auto const found = body_->jobs.find(run_id);
  if (found != body_->jobs.end()) HostedJob::step(HostedJob::Ptr(found->second), Overruled{by});
}

bool HostService::forbid(std::string const& run_id, Error const& error) {
  auto const found = body_->jobs.find(run_id);
  return found != body_->jobs.end() && HostedJob::forbid(HostedJob::Ptr(found->second), error);
}

void HostService::resign(Duration patience, std::function<void()> done) {
  Body::resign(body_, patience, std::move(done));
}

std::optional<HostIs> HostService::hosted(std::string const& run_id) const {
  auto const found = body_->jobs.find(run_id);
  if (found == body_->jobs.end()) return std::nullopt;
  auto const& host = found->second->host();
  HostIs is;
  is.generation = host.generation;
  is.epoch = host.epoch;
  is.host.node = host.self;
  is.host.host = host.name;
  is.committed = host.committed.has_value();
  return is;
}

ControlCounters const& HostService::counters() const {
  return body_->callers->counters();
}

std::size_t HostService::jobs() const {
  return body_->jobs.size();
}

std::map<std::string, membership::Why> HostService::reasons() const {
  std::map<std::string, Why> reasons;
  for (auto const& [run_id, job] : body_->jobs)
    if (job->why()) reasons.emplace(run_id, *job->why());
  return reasons;
}

}  // namespace muster::net
