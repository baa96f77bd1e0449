// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every option of `muster run`, checked and typed: what the rest of the launcher works with. Made
// by cli/parse.hpp from the command line and PET_* variables, never changed after that.

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/port_range.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::launch {

// host is empty where the user named none. IPv6 without brackets. port 0: the system chooses.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

// Which of a worker's two streams something applies to (torchrun's digit: 1 stdout, 2 stderr, 3
// both).
struct StreamSet {
  bool out = false;
  bool err = false;

  friend bool operator==(StreamSet, StreamSet) = default;
};

// --redirects and --tee: one answer for all local ranks, or one per rank (others: none).
struct StreamSpec {
  StreamSet others;
  std::map<int, StreamSet> by_local_rank;

  StreamSet of(int local_rank) const {
    auto const found = by_local_rank.find(local_rank);
    return found == by_local_rank.end() ? others : found->second;
  }
  friend bool operator==(StreamSpec const&, StreamSpec const&) = default;
};

// --nproc-per-node as written; environment/nproc.hpp makes it a number.
struct NprocSpec {
  enum class Kind { number, automatic, cpu, gpu };
  Kind kind = Kind::number;
  int count = 1;

  friend bool operator==(NprocSpec const&, NprocSpec const&) = default;
};

enum class Rendezvous {
  local,         // MAX nodes = 1 or --standalone: nobody else to meet
  static_ranks,  // node ranks given, MIN = MAX, rank 0's address given
  c10d,          // nodes meet at the endpoint
};

// --rdzv-conf, typed. Keys that torchrun reads and that mean nothing here are accepted and kept in
// RunOptions::rdzv_conf.
struct RendezvousSettings {
  std::chrono::milliseconds join_timeout{
      600'000};  // forming the first round; static: `timeout`, 900 s
  std::chrono::milliseconds last_call_timeout{
      3'000};  // muster's quiet period; torchrun's default is 30 s
  std::chrono::milliseconds close_timeout{30'000};
  std::chrono::milliseconds keep_alive_interval{1'000};
  std::chrono::milliseconds scale_interval{30'000};  // between rounds that newcomers bring
  // A node that is silent for so long is lost: `dead`, or keep_alive_interval x attempts. Given, it
  // holds in every case, unless dead_at_min says otherwise where the job cannot go on without it.
  std::optional<std::chrono::milliseconds> dead_after, dead_at_min;
  std::optional<bool> is_host;  // unset: whoever can bind the endpoint's address
  bool may_begin = true;        // bootstrap=never: joins a job that somebody else hosts, only
  int expected = 0;             // nodes that are known to come; 0: not said
  int membership_changes = 1'000;
  std::string node_id, order_key;  // see membership::NodeFacts
  // peers=torchrun: real torchrun agents take part, and their shared state decides. Their defaults
  // hold then.
  bool torchrun_peers = false;
  int keep_alive_attempts = 3;
};

// PEM files: this node's certificate and its key, and the authority whose certificates it takes.
struct TlsPaths {
  std::string certificate, key, authority;

  friend bool operator==(TlsPaths const&, TlsPaths const&) = default;
};

enum class EntryKind { script, module, no_python, run_path };
// What happens when a console or log file takes nothing any more.
enum class LogStall {
  drop,   // lines are, and said to be; no worker is held up
  block,  // a worker that writes there is held up, as by a plain pipe
  stop,   // the workers are stopped
};
enum class NumaBinding { node, socket, exclusive, core_complex };

struct RunOptions {
  int nodes_min = 1;
  int nodes_max = 1;
  NprocSpec nproc;

  Rendezvous rendezvous = Rendezvous::local;
  std::string rdzv_backend = "static";  // as given: static or c10d, for events and the start line
  // Where the nodes meet. Also for Rendezvous::local, if the user gave an address or a port: then
  // the workers' store listens there; unset: on loopback, at a port of the system's choice.
  std::optional<Endpoint> endpoint;
  std::vector<Endpoint> endpoints;  // c10d: all places of the endpoint, `endpoint` first
  std::string run_id;
  std::map<std::string, std::string> rdzv_conf;
  RendezvousSettings settings;
  std::optional<int> node_rank;           // static: always set; c10d: only if the user gave it
  std::optional<std::string> local_addr;  // how peers reach this node
  std::string network;                    // by which interfaces, subnets or addresses; empty: any
  std::vector<PortRange> store_ports;     // of the workers' store; empty: the system chooses
  bool print_ports = false;               // say what must be open, start nothing
  std::optional<std::string> token_file;  // the job's token; MUSTER_TOKEN is another way
  std::optional<TlsPaths> tls;
  bool open_store = false;  // stores take connections from everybody

  int max_restarts = 0;                                // job-wide
  std::chrono::milliseconds shutdown_timeout{30'000};  // death signal to SIGKILL
  std::vector<int> signals_to_handle;                  // numbers, without repeats
  std::string signals_text;  // as exported in TORCHELASTIC_SIGNALS_TO_HANDLE
  std::string role = "default";

  EntryKind entry = EntryKind::script;
  std::string program;  // script, module or command
  std::vector<std::string> args;
  std::optional<NumaBinding> numa_binding;
  bool virtual_local_rank = false;

  std::optional<std::string> log_dir;  // unset: a fresh folder below the temporary directory
  bool log_files_off = false;          // --log-dir=/dev/null: no files, no error file
  StreamSpec redirects;                // to files, tee included (torchrun's effective redirect)
  StreamSpec tee;
  LogStall log_stall = LogStall::drop;
  std::optional<std::set<int>> local_ranks_filter;  // unset: all ranks reach the console
  std::vector<std::string> stdout_filters;
  std::vector<std::string> stderr_filters;
  std::optional<std::string> log_line_prefix_template;  // TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE

  log::Level log_level = log::Level::warning;
  std::vector<std::string>
      warnings;  // to be logged once at start: what was given but has no effect
};

}  // namespace muster::launch
