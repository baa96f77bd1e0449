// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/remote_link.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/port_holder.hpp"

#include <utility>

namespace muster::launch {
namespace {

namespace member = membership::member;

// A host that was named to a newcomer and does not answer for so long is looked for anew.
constexpr Duration kSeatPatience = std::chrono::seconds{2};

}  // namespace

// What the agent says.

void RemoteLink::join(MembershipListener& listener) {
  listener_ = &listener;
  member_.start(listener);
  search_.start();
  silence_.start(
      [this, alive = std::weak_ptr<bool>(alive_)]() -> std::optional<UnansweredEndpoint> {
        return alive.expired() ? std::nullopt : unanswered();
      });
}

void RemoteLink::workers_failed(WorkerFailure failure) {
  member_.workers_failed(std::move(failure));
}

void RemoteLink::workers_done(RoundNumber round) {
  member_.post_event(member::WorkersDone{round});
}

void RemoteLink::stopped(RoundNumber round, std::uint32_t unclean) {
  member_.post_event(member::WorkersStopped{round, unclean});
}

void RemoteLink::leave(int exit_code, std::string why) {
  member_.post_event(member::LeaveWanted{membership::Leave{exit_code, std::move(why)}});
}

Duration RemoteLink::silence() const {
  auto const& state = member_.state();
  if (!state.job.leases) return Duration::zero();
  return membership::fence_of(state.dead == Duration::zero() ? state.job.dead : state.dead);
}

// What the member wants.

void RemoteLink::post(std::function<void()> call) {
  net::asio::post(io_, [alive = std::weak_ptr<bool>(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  });
}

void RemoteLink::say(control::Letter letter) {
  if (line_.is_calling()) return line_.send(std::move(letter));
  hosting_.ear().service().local_letter(
      std::move(letter), [this, alive = std::weak_ptr<bool>(alive_)](control::Letter answer) {
        if (!alive.expired()) heard(std::move(answer));
      });
}

void RemoteLink::wake_at(TimePoint at) {
  timer_.expires_after(Deadline{at}.left(now()));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](net::error_code const& ec) {
    if (!ec && !alive.expired()) member_.event(member::Tick{});
  });
}

void RemoteLink::call_seat(membership::Seat const& seat, control::Letter letter) {
  if (seat.port == 0) return;  // it has no listener
  if (std::exchange(spoken_as_, letter.header.incarnation) != letter.header.incarnation)
    peers_.clear();  // a connection speaks for one life of this agent
  peers_.send({seat.address, seat.port}, std::move(letter));
}

void RemoteLink::reply(Incarnation to, control::Letter letter) {
  complete(letter.message);
  hosting_.ear().service().reply(to, std::move(letter));
}

void RemoteLink::call_host(membership::Seat const& seat) {
  seat_called_.reset();
  if (seat.address.empty()) {
    line_.stop();
    return search_.start();
  }
  search_.stop();
  seat_called_ = now();
  line_.call({{seat.address, seat.port}});
}

void RemoteLink::probe(membership::Probe const& wish) {
  membership::Probed result{wish.round, wish.attempt, {}};
  auto targets = wish.targets;
  for (auto& target : targets)
    target.address = dial_address(target.address, options_.facts.networks);
  prober_.start(std::move(targets), net::kProbePatience,
                [this, result](std::vector<membership::ProbeFailure> failures) mutable {
                  result.failures = std::move(failures);
                  member_.event(member::PeersProbed{std::move(result)});
                });
}

// Hosting.

void RemoteLink::begin_hosting() {
  if (over_) return;
  log::info("this node hosts the rendezvous at " + places_text());
  line_.stop();
  auto const first = search_.owns_first_place();
  hosting_.begin(first ? std::vector<net::Place>() : search_.other_places());
  member_.post_event(member::Connected{});
}

void RemoteLink::become_host(membership::Host const& host) {
  search_.stop();
  line_.stop();
  hosting_.take_over(host, search_.other_places());
  member_.post_event(member::Connected{});
}

// Being called.

// By somebody who looks for the host, or as a voter.
void RemoteLink::called(control::Letter letter) {
  note_job(letter);
  auto const from = letter.header.incarnation;
  if (std::holds_alternative<membership::Join>(letter.message) ||
      std::holds_alternative<membership::Lease>(letter.message))  // it takes us for its host
    return reply(from, member_.letter(host_for_callers()));
  member_.event(member::PeerSaid{std::move(letter.header), std::move(letter.message)});
}

// Without a host: whether we may become it, so that owners of later places leave it to us.
membership::HostIs RemoteLink::host_for_callers() const {
  auto const& state = member_.state();
  if (state.with_host && !hosting_.hosts())
    return {state.generation, state.epoch, state.host_seat, job_began_};
  membership::HostIs nobody;
  if (search_.decides()) nobody.host.node = state.facts.incarnation;
  return nobody;
}

// A host without an address is the endpoint's, at which we have reached it; or this agent, which
// who hears it has reached.
void RemoteLink::complete(membership::Message& message) const {
  auto* const is = std::get_if<membership::HostIs>(&message);
  if (!is || is->generation == Generation{} || !is->host.address.empty()) return;
  if (is->host.node == member_.state().facts.incarnation) {
    hosting_.add_address(*is);
  } else if (auto const& reached = line_.reached()) {
    is->host.address = reached->host;
    is->host.port = reached->port;
  }
}

// Hearing.

// From whoever is called as the host.
void RemoteLink::heard(control::Letter letter) {
  note_job(letter);
  auto const* is = std::get_if<membership::HostIs>(&letter.message);
  if (is && is->generation == Generation{}) {
    if (is->host.node != Incarnation{})
      search_.somebody_decides();
    else
      search_.nobody_answered();
    if (!look_anew()) line_.skip();
    return;
  }
  if (std::holds_alternative<membership::Welcome>(letter.message)) {
    search_.stop();
    seat_called_.reset();
  }
  member_.event(member::Heard{std::move(letter.header), std::move(letter.message)});
}

// On a line of ours to another node.
void RemoteLink::answered(control::Letter letter) {
  note_job(letter);
  auto const* is = std::get_if<membership::HostIs>(&letter.message);
  if (is && hosting_.hosts()) return hosting_.overrule(*is);
  member_.event(member::PeerSaid{std::move(letter.header), std::move(letter.message)});
}

void RemoteLink::note_job(control::Letter const& letter) {
  auto const* is = std::get_if<membership::HostIs>(&letter.message);
  if (job_began_ || (letter.header.round == RoundNumber{} && !(is && is->committed))) return;
  job_began_ = true;
  search_.forbid_hosting();
}

// Nothing once somebody did answer, or this node hosts.
std::optional<UnansweredEndpoint> RemoteLink::unanswered() const {
  auto const& state = member_.state();
  if (over_ || hosting_.hosts() || state.connected || state.welcome) return std::nullopt;
  UnansweredEndpoint endpoint{search_.asked_places(), options_.facts.networks, {}, last_problem_};
  if (options_.job.given_ranks)
    endpoint.reason = NotHosting::not_rank_zero;
  else if (options_.is_host == false || !options_.may_begin)
    endpoint.reason = NotHosting::told;
  else if (neighbour_)
    endpoint.reason = NotHosting::port_taken;
  return endpoint;
}

// torchrun's agents, in the store that this agent serves.
void RemoteLink::torchrun_met(Error const& error) {
  if (over_ || hosting_.forbid(error)) return;
  if (!hosting_.hosts() && !job_began_) return fail(error);
  log::warning(to_string(error) + "; this job goes on, theirs is closed");
}

void RemoteLink::problem(Error const& error) {
  if (over_ || look_anew()) return;
  // Who listens there and hangs up may serve a store, and nothing else.
  if (error.code == Errc::closed) torchrun_.visit();
  auto const known = member_.state().welcome || seat_called_ || options_.places.size() > 1;
  auto const unheard = error.code == Errc::not_found || error.code == Errc::timeout;
  auto const& name = options_.places.front().host;
  if (!known && unheard && can_never_resolve(name)) return fail(error);
  if (!last_problem_ && unheard)
    log::warning(to_string(error) + "; trying again until the join time is over");
  last_problem_ = error;
  search_.nobody_answered();
}

void RemoteLink::refused(Error const& error) {
  // Whoever listens there now is not the host that was there, or not at the only place.
  auto const others = member_.state().welcome || seat_called_ || options_.places.size() > 1;
  if (others && (error.code != Errc::refused || member_.state().welcome)) return problem(error);
  if (error.code == Errc::refused) return fail(error);
  line_.stop();
  search_.stop();
  torchrun_.visit([this, error](std::optional<Error> clash) {
    post([this, error, clash] { fail(clash ? *clash : not_ours(error)); });
  });
}

// Whoever listens there speaks another protocol.
Error RemoteLink::not_ours(Error const& error) const {
  if (!neighbour_) return error;
  return net::name_port_holder(
      {Errc::address_in_use, places_text() + " is taken: " + error.what, {}},
      options_.places.front().port, "choose another port with --rdzv-endpoint");
}

// A newcomer that was sent to a host which is not there asks at the endpoint again.
bool RemoteLink::look_anew() {
  if (!seat_called_ || member_.state().welcome || now() < *seat_called_ + kSeatPatience)
    return false;
  call_host({});
  return true;
}

// The end.

void RemoteLink::keep_last_word(member::KeepLastWord const& wish) {
  LastWords words;
  for (auto const& seat : wish.voters)
    if (seat.port != 0) words.places.push_back({seat.address, seat.port});
  if (line_.is_calling() && line_.reached())
    words.places.push_back({line_.reached()->host, line_.reached()->port});
  // An answer that nobody has asked for: it tells whose connection this is, and nothing else.
  words.opening = member_.letter(membership::Answer{});
  words.word = member_.letter(membership::LastWord{member_.state().facts.incarnation});
  words.word.header.round = wish.round;
  words.word.header.epoch = wish.epoch;
  listener_->on_last_words(words);
}

void RemoteLink::concluded(Outcome const& outcome) {
  finish([this, outcome] { listener_->on_outcome(outcome); });
}

void RemoteLink::finish(std::function<void()> deliver) {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  search_.stop();
  if (!hosting_.hosts()) return post(std::move(deliver));
  hosting_.leave_last(std::move(deliver));
}

void RemoteLink::fail(Error const& error) {
  auto const shown = with_last_problem(error);
  hosting_.give_up();
  finish([this, shown] { listener_->on_error(shown); });
}

Error RemoteLink::with_last_problem(Error error) const {
  if (error.code == Errc::rendezvous_timeout && last_problem_ && !member_.state().welcome)
    error.what += " (" + last_problem_->what + ")";
  return error;
}

}  // namespace muster::launch
