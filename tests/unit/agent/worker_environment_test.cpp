// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/worker_environment.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

RunOptions options_for(EntryKind entry) {
  RunOptions options;
  options.entry = entry;
  options.program = "train.py";
  options.args = {"--lr", "0.1"};
  options.run_id = "job";
  options.max_restarts = 3;
  options.signals_text = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  return options;
}

// Two nodes of two workers; this is the second one.
RoundView second_node() {
  RoundView round;
  round.round = RoundNumber{5};
  round.restart_count = 1;
  round.group_rank = 1;
  round.group_world_size = 2;
  round.rank_base = 2;
  round.world_size = 4;
  round.role_rank_base = 2;
  round.role_world_size = 4;
  round.master_addr = "10.0.0.1";
  round.master_port = 41234;
  return round;
}

NodeFacts two_workers() {
  return NodeFacts{2, "/opt/venv/bin/python", 4};
}

WorkerProgram program_of(RunOptions const& options, EnvView const& parent = {},
                         int local_rank = 1) {
  auto program = worker_program(parent, options, two_workers(), second_node(), local_rank,
                                "/logs/1/error.json");
  REQUIRE(program);
  return *std::move(program);
}

}  // namespace

TEST_CASE("a worker gets torchrun's variables and two of muster's, no more", "[agent]") {
  auto const program =
      program_of(options_for(EntryKind::script), EnvView(Variables{{"HOME", "/root"}}));
  CHECK(program.environment ==
        Variables{
            {"HOME", "/root"},
            {"LOCAL_RANK", "1"},
            {"RANK", "3"},
            {"WORLD_SIZE", "4"},
            {"GROUP_RANK", "1"},
            {"GROUP_WORLD_SIZE", "2"},
            {"ROLE_NAME", "default"},
            {"ROLE_RANK", "3"},
            {"ROLE_WORLD_SIZE", "4"},
            {"LOCAL_WORLD_SIZE", "2"},
            {"MASTER_ADDR", "10.0.0.1"},
            {"MASTER_PORT", "41234"},
            {"TORCHELASTIC_RESTART_COUNT", "1"},
            {"TORCHELASTIC_MAX_RESTARTS", "3"},
            {"TORCHELASTIC_RUN_ID", "job"},
            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
            {"TORCHELASTIC_ERROR_FILE", "/logs/1/error.json"},
            {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
            {"OMP_NUM_THREADS", "1"},
            {"MUSTER_CPUS", "4"},
            {"MUSTER_ROUND", "5"},
        });
}

TEST_CASE("what the user set about threads and NCCL stays", "[agent]") {
  auto const program = program_of(options_for(EntryKind::script),
                                  EnvView(Variables{{"OMP_NUM_THREADS", "6"},
                                                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                                                    {"MUSTER_CPUS", "9"}}));
  CHECK(program.environment.at("OMP_NUM_THREADS") == "6");
  CHECK(program.environment.at("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0");
  CHECK(program.environment.count("MUSTER_CPUS") == 0);
}

TEST_CASE("NCCL and gloo are told the interface that the nodes share, unless the user did",
          "[agent]") {
  auto round = second_node();
  round.interface = "eth1";
  auto const variables = [&](Variables parent) {
    auto program = worker_program(EnvView(std::move(parent)), options_for(EntryKind::script),
                                  two_workers(), round, 0, "");
    REQUIRE(program);
    return program->environment;
  };
  auto const chosen = variables({});
  CHECK(chosen.at("NCCL_SOCKET_IFNAME") == "=eth1");  // not eth10
  CHECK(chosen.at("GLOO_SOCKET_IFNAME") == "eth1");
  auto const given = variables({{"NCCL_SOCKET_IFNAME", "ib"}, {"GLOO_SOCKET_IFNAME", "ib0"}});
  CHECK(given.at("NCCL_SOCKET_IFNAME") == "ib");
  CHECK(given.at("GLOO_SOCKET_IFNAME") == "ib0");
}

TEST_CASE("one worker alone may use all threads: OMP_NUM_THREADS stays unset", "[agent]") {
  auto const program = worker_program({}, options_for(EntryKind::script),
                                      NodeFacts{1, "python3", 8}, RoundView{}, 0, "");
  REQUIRE(program);
  CHECK(program->environment.count("OMP_NUM_THREADS") == 0);
  CHECK(program->environment.at("MUSTER_CPUS") == "8");
  CHECK(program->environment.at("TORCHELASTIC_ERROR_FILE").empty());
}

TEST_CASE("the job's token never reaches a worker", "[agent]") {
  auto const program =
      program_of(options_for(EntryKind::script), EnvView(Variables{{"MUSTER_TOKEN", "secret"}}));
  CHECK(program.environment.count("MUSTER_TOKEN") == 0);
}

TEST_CASE("each kind of entry has torchrun's command", "[agent]") {
  using Words = std::vector<std::string>;
  CHECK(program_of(options_for(EntryKind::script)).argv ==
        Words{"/opt/venv/bin/python", "-u", "train.py", "--lr", "0.1"});
  CHECK(program_of(options_for(EntryKind::module)).argv ==
        Words{"/opt/venv/bin/python", "-u", "-m", "train.py", "--lr", "0.1"});
  CHECK(program_of(options_for(EntryKind::no_python)).argv == Words{"train.py", "--lr", "0.1"});
  auto const by_path = program_of(options_for(EntryKind::run_path)).argv;
  REQUIRE(by_path.size() == 7);
  CHECK(by_path[2] == "-c");
  CHECK(by_path[3].find("runpy.run_path(sys.argv[0], run_name='__main__')") != std::string::npos);
  CHECK(by_path[4] == "train.py");
}

TEST_CASE("macros are replaced in the arguments, not in a command without Python", "[agent]") {
  auto options = options_for(EntryKind::no_python);
  options.program = "run_$local_rank";
  options.args = {"--out=${local_rank}.txt", "$$x"};
  CHECK(program_of(options).argv ==
        std::vector<std::string>{"run_$local_rank", "--out=1.txt", "$x"});
}

TEST_CASE("substitution is string.Template's safe one", "[agent]") {
  // text, what Python 3.11 gives for safe_substitute(local_rank="3")
  struct Row {
    char const* text;
    char const* expected;
  };
  for (auto const& row : {
           Row{"", ""},
           Row{"plain", "plain"},
           Row{"$local_rank", "3"},
           Row{"${local_rank}", "3"},
           Row{"a$local_rank.b", "a3.b"},
           Row{"$local_rank_x", "$local_rank_x"},
           Row{"$local_rank-x", "3-x"},
           Row{"$$local_rank", "$local_rank"},
           Row{"$$$local_rank", "$3"},
           Row{"$", "$"},
           Row{"$$", "$"},
           Row{"a$", "a$"},
           Row{"${local_rank", "${local_rank"},
           Row{"${}", "${}"},
           Row{"${ local_rank}", "${ local_rank}"},
           Row{"$LOCAL_RANK", "$LOCAL_RANK"},
           Row{"${HOME}$local_rank", "${HOME}3"},
           Row{"$1", "$1"},
           Row{"${local_rank}${local_rank}", "33"},
           Row{"$x$$y", "$x$y"},
           Row{"${local_rank_}", "${local_rank_}"},
           Row{"${", "${"},
       }) {
    INFO(row.text);
    CHECK(substitute_local_rank(row.text, 3) == row.expected);
  }
}

TEST_CASE("virtual local rank gives each worker one device as number 0", "[agent]") {
  auto options = options_for(EntryKind::script);
  options.virtual_local_rank = true;
  auto program = program_of(options);
  CHECK(program.environment.at("LOCAL_RANK") == "0");
  CHECK(program.environment.at("RANK") == "3");
  CHECK(program.environment.at("CUDA_VISIBLE_DEVICES") == "1");
  program = program_of(options, EnvView(Variables{{"CUDA_VISIBLE_DEVICES", "4, GPU-7 ,6"}}));
  CHECK(program.environment.at("CUDA_VISIBLE_DEVICES") == "GPU-7");
}

TEST_CASE("too few visible devices for virtual local rank are named", "[agent]") {
  auto options = options_for(EntryKind::script);
  options.virtual_local_rank = true;
  EnvView const parent(Variables{{"CUDA_VISIBLE_DEVICES", "4"}});
  auto const program = worker_program(parent, options, two_workers(), second_node(), 1, "");
  REQUIRE_FALSE(program);
  CHECK(program.error().code == Errc::bad_input);
  CHECK(program.error().what.find("CUDA_VISIBLE_DEVICES='4'") != std::string::npos);
}

}  // namespace muster::launch
