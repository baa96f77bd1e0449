// SPDX-License-Identifier: Apache-2.0
// musterd: serves until SIGTERM or SIGINT, then hands its jobs over and gives clients two seconds
// to read what they are owed. One thread.
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/limits.hpp"
#include "rendezvous/daemon/options.hpp"
#include "rendezvous/net/eager_run.hpp"
#include "rendezvous/net/host_service.hpp"
#include "rendezvous/net/http.hpp"
#include "rendezvous/net/job_token.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/port_holder.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <random>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace muster;

namespace {

// Else a socket would get the number of a closed stream, and our lines with it.
void open_closed_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", O_RDWR) != fd) return;
}

// Every client is a descriptor; the soft limit is usually 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int fail(Error const& error) {
  log::error(to_string(error));
  return exit_code_of(error.code);
}

// The first signal hands the jobs over to their agents and drains, a second one ends at once.
void await_signal(net::asio::signal_set& signals, net::asio::io_context& io, net::HostService& jobs,
                  net::Server& server) {
  signals.async_wait([&](net::error_code const& ec, int) {
    if (ec) return;
    jobs.resign(limits::kDrainDeadline,
                [&io, &server] { server.drain(limits::kDrainDeadline, [&io] { io.stop(); }); });
    signals.async_wait([&io](net::error_code const& again, int) {
      if (!again) io.stop();
    });
  });
}

// Who hosts the jobs whose agents call here.
net::HostServiceOptions identity() {
  net::HostServiceOptions options;
  utsname names{};
  options.name = ::uname(&names) == 0 ? names.nodename : "musterd";
  std::random_device device;
  auto const high = static_cast<std::uint64_t>(device());
  options.self = Incarnation{(high << 32) | device()};
  options.on_why = [](std::string const& run_id, membership::Why const& why, TimePoint time) {
    log::info("run " + run_id + ": " + membership::explain(why, time));
  };
  return options;
}

Result<net::Security::Ptr> security(daemon::Options const& options) {
  net::SecurityOptions wanted;
  wanted.tls = options.tls;
  auto const env = EnvView::from_process();
  MUSTER_TRY(wanted.token, net::read_job_token(env.get(net::kTokenVariable), options.token_file));
  return net::Security::make(wanted);
}

int serve(daemon::Options const& options) {
  net::asio::io_context io(1);
  auto const secured = security(options);
  if (!secured) return fail(secured.error());
  auto acceptor = net::listen_on(io, options.host, options.port);
  if (!acceptor)
    return fail(
        net::name_port_holder(acceptor.error(), options.port, "choose another port with --port"));
  auto hosting = identity();
  hosting.security = *secured;
  net::HostService jobs(io, std::move(hosting));
  std::optional<net::Server> server;
  net::ServerOptions serving;
  serving.serves_store = options.open_store || !*secured || (*secured)->token().empty();
  serving.on_control = [&jobs](net::tcp::socket socket, std::string bytes) {
    jobs.take(std::move(socket), std::move(bytes));
  };
  serving.on_http = net::http_front([&server, &jobs](net::HttpRequest const& request) {
    return net::store_page(request, *server, jobs.reasons(), &jobs.counters());
  });
  server.emplace(*std::move(acceptor), std::move(serving));

  net::asio::signal_set signals(io, SIGTERM, SIGINT);
  await_signal(signals, io, jobs, *server);
  std::printf("musterd: listening on %s\n", net::to_text(server->endpoint()).c_str());
  std::fflush(stdout);
  net::run_eagerly(io);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    open_closed_streams();
    log::start("musterd", log::Level::warning);
    auto const parsed = daemon::parse(argc, argv);
    if (auto const* done = std::get_if<daemon::Exit>(&parsed)) return done->code;
    auto const& options = std::get<daemon::Options>(parsed);
    log::start("musterd", options.log_level);
    raise_descriptor_limit();
    ::signal(SIGPIPE, SIG_IGN);  // whoever reads our lines may go; the jobs must not
    return serve(options);
  } catch (std::exception const& error) {
    return fail(Error{Errc::internal, error.what(), {}});
  }
}
