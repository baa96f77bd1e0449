// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bench/peers.hpp"

#include "rendezvous/bench/load.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace muster::bench {
namespace {

constexpr int kStartPatienceMs = 60'000;  // importing torch on a busy machine

// The child's stdout is the pipe's end; it dies with us.
pid_t spawn(std::vector<std::string> const& argv, int stdout_end) {
  std::vector<char*> arguments;
  for (auto const& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t const pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(stdout_end, STDOUT_FILENO);
  int const sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(sink, STDERR_FILENO);
  ::setenv("RES_OPTIONS", "timeout:1 attempts:1",
           1);  // a name server that is mute costs 1 s, not 10
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// One line, or nothing where the child ended or was silent for too long.
std::string read_line(int fd) {
  std::string line;
  char byte;
  while (true) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, kStartPatienceMs) <= 0) return {};
    if (::read(fd, &byte, 1) <= 0) return {};
    if (byte == '\n') return line;
    line.push_back(byte);
  }
}

std::uint16_t free_port() {
  UniqueFd const socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), raw, size) != 0 || ::getsockname(socket.get(), raw, &size) != 0)
    return 0;
  return ntohs(address.sin_port);
}

constexpr char kTcpStoreProgram[] =
    "import datetime, signal, torch.distributed as d\n"
    "s = d.TCPStore('127.0.0.1', 0, None, True, datetime.timedelta(seconds=300),"
    " wait_for_workers=False, use_libuv=True)\n"
    "print('port', s.port, flush=True)\n"
    "signal.pause()\n";

}  // namespace

Result<Peer> Peer::start_printing(std::string name, std::vector<std::string> const& argv) {
  MUSTER_TRY(auto pipe, make_pipe());
  pid_t const pid = spawn(argv, pipe.write_end.get());
  if (pid < 0) return from_errno(errno, "fork");
  pipe.write_end.reset();
  auto const line = read_line(pipe.read_end.get());
  auto const digits = line.find_last_not_of("0123456789");
  auto const port = digits == std::string::npos ? 0 : std::atoi(line.c_str() + digits + 1);
  if (port <= 0) {
    end(pid);
    return Error{Errc::not_found, name + ": '" + argv[0] + "' did not start", {}};
  }
  return Peer(std::move(name), Dialect::tcpstore, pid, static_cast<std::uint16_t>(port));
}

Result<Peer> Peer::start_redis() {
  auto const port = free_port();
  std::vector<std::string> const argv{"redis-server",
                                      "--port",
                                      std::to_string(port),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--maxclients",
                                      "20000",
                                      "--protected-mode",
                                      "no",
                                      "--daemonize",
                                      "no"};
  int const sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  pid_t const pid = spawn(argv, sink);
  ::close(sink);
  for (int i = 0; i < 100; ++i) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid)
      return Error{Errc::not_found, "redis: redis-server is not installed or did not start", {}};
    if (connect_loopback(port)) return Peer("redis", Dialect::resp, pid, port);
    ::poll(nullptr, 0, 50);
  }
  end(pid);
  return Error{Errc::timeout, "redis: redis-server did not listen within 5 s", {}};
}

Result<std::vector<int>> Peer::connections(std::size_t count) const {
  std::string hello;
  if (dialect_ == Dialect::tcpstore) {
    wire::encode(wire::Validate{}, hello);
    wire::encode(wire::Ping{}, hello);
  } else {
    hello = "PING\r\n";
  }
  std::size_t const answer = dialect_ == Dialect::tcpstore ? 4 : 7;  // the nonce, "+PONG\r\n"
  while (pool_.size() < count) {
    MUSTER_TRY(auto socket, connect_loopback(port_));
    MUSTER_CHECK(send_all(socket.get(), hello));
    MUSTER_TRY(auto const pong, receive(socket.get(), answer));
    pool_.push_back(std::move(socket));
  }
  std::vector<int> lent;
  for (std::size_t i = 0; i < count; ++i) lent.push_back(pool_[i].get());
  return lent;
}

Peer::Peer(Peer&& other) noexcept
    : name_(std::move(other.name_)),
      dialect_(other.dialect_),
      pid_(std::exchange(other.pid_, -1)),
      port_(other.port_),
      pool_(std::move(other.pool_)) {}

Peer::~Peer() {
  if (pid_ > 0) end(pid_);
}

double Peer::cpu_seconds() const {
  double total = 0;
  std::error_code ignored;
  auto const tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (auto const& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream stat(task.path() / "schedstat");
    double ns = 0;
    stat >> ns;
    total += ns / 1e9;
  }
  return total;
}

std::size_t Peer::resident_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0)
      return static_cast<std::size_t>(std::atoll(line.c_str() + 6)) * 1024;
  return 0;
}

Result<Peer> start_musterd(std::string const& program) {
  return Peer::start_printing("muster", {program, "--host", "127.0.0.1", "--port", "0"});
}

Result<Peer> start_tcpstore(std::string const& python) {
  return Peer::start_printing("tcpstore", {python, "-c", kTcpStoreProgram});
}

}  // namespace muster::bench
