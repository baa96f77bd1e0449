#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What workers of `muster run` are started with: environment, arguments, descriptors, stdin."""

import json
import os
import re
import subprocess
import sys
import tempfile

from launch_case import Job, run_cases, shell_job

DUMP = 'env > "$D/env.$RANK"'


def environment_of(job, rank):
    return dict(line.split("=", 1) for line in job.read(f"env.{rank}").splitlines() if "=" in line)


def test_the_environment_is_torchruns_and_a_little_more():
    with shell_job(2, DUMP, "--max-restarts=3", "--rdzv-id=job7", "--role=trainer") as job:
        assert job.wait() == 0, job.stderr()
        for rank in (0, 1):
            env = environment_of(job, rank)
            expected = dict(LOCAL_RANK=str(rank), RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", GROUP_RANK="0",
                            GROUP_WORLD_SIZE="1", ROLE_NAME="trainer", ROLE_RANK=str(rank), ROLE_WORLD_SIZE="2",
                            MASTER_ADDR="127.0.0.1", TORCHELASTIC_RESTART_COUNT="0", TORCHELASTIC_MAX_RESTARTS="3",
                            TORCHELASTIC_USE_AGENT_STORE="True", TORCH_NCCL_ASYNC_ERROR_HANDLING="1", OMP_NUM_THREADS="1",
                            TORCHELASTIC_SIGNALS_TO_HANDLE="SIGTERM,SIGINT,SIGHUP,SIGQUIT")
            for name, value in expected.items():
                assert env.get(name) == value, (name, env.get(name), value)
            assert int(env["MASTER_PORT"]) > 0
            assert env["TORCHELASTIC_RUN_ID"] != ""
            assert env["TORCHELASTIC_ERROR_FILE"].endswith(f"/attempt_0/{rank}/error.json")
            assert os.path.isdir(os.path.dirname(env["TORCHELASTIC_ERROR_FILE"]))
            added = set(env) - set(os.environ) - set(expected)
            assert added <= {"MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "MUSTER_CPUS", "MUSTER_ROUND", "TMPDIR",
                             "MUSTER_TEST_MARK", "D", "PWD", "OLDPWD", "_", "SHLVL"}, added


def test_the_store_answers_while_workers_run():
    script = os.path.join(os.environ["MUSTER_SOURCE_DIR"], "tests", "support", "store_probe.py")
    with Job(["--standalone", "--nproc-per-node=2", script], env={"PYTHON_EXEC": sys.executable}) as job:
        assert job.wait() == 0, job.stderr()
        assert job.stdout().count("counted 2") == 1, job.stdout()


def test_arguments_reach_the_worker_with_macros_replaced():
    with Job(["--standalone", "--nproc-per-node=2", "--no-python", sys.executable, "-c",
              "import os,sys; open(os.environ['D'] + '/argv.' + os.environ['RANK'], 'w').write(repr(sys.argv[1:]))",
              "--nproc", "${local_rank}", "$$x", "--", "-m"]) as job:
        assert job.wait() == 0, job.stderr()
        assert job.read("argv.1") == "['--nproc', '1', '$x', '--', '-m']", job.read("argv.1")


def test_nothing_of_the_launcher_is_open_in_a_worker():
    extra = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(extra, True)
    script = 'ls -l /proc/self/fd > "$D/fds.$RANK"'
    with shell_job(2, script) as job:
        assert job.wait() == 0, job.stderr()
        for rank in (0, 1):
            numbers = [line.split("->")[0].split()[-1] for line in job.read(f"fds.{rank}").splitlines() if "->" in line]
            assert set(numbers) <= {"0", "1", "2", "3"}, numbers  # 3: ls reads the folder
    os.close(extra)


def test_a_lone_worker_reads_our_stdin():
    read, write = os.pipe()
    with shell_job(1, "read line; echo got $line", stdin=read) as job:
        os.close(read)
        os.write(write, b"hello\n")
        assert job.wait() == 0, job.stderr()
        assert job.stdout() == "got hello\n"
    os.close(write)


def test_several_workers_read_nothing_and_find_it_open():
    read, write = os.pipe()
    with shell_job(2, 'cat; readlink /proc/self/fd/0 > "$D/in.$RANK"', stdin=read) as job:
        assert job.wait() == 0, job.stderr()
        assert job.read("in.0") == job.read("in.1") == "/dev/null\n"
    os.close(read)
    os.close(write)


def test_closed_standard_streams_do_not_confuse_us():
    def close_all():
        for fd in (0, 1, 2):
            os.close(fd)
    with shell_job(2, 'echo out; echo err >&2; echo done > "$D/done.$RANK"', preexec=close_all) as job:
        assert job.wait() == 0
        assert job.read("done.0") == job.read("done.1") == "done\n"


def test_signal_dispositions_nice_and_limits_pass_through():
    import resource
    import signal

    def prepare():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        resource.setrlimit(resource.RLIMIT_NOFILE, (777, 888))
        os.nice(3)
    look = ("import os,resource,signal,json; s=dict(l.split(':',1) for l in open('/proc/self/status'));"
            "json.dump([int(s['SigIgn'],16)&1, int(s['SigIgn'],16)>>16&1, int(s['SigBlk'],16), resource.getrlimit(resource.RLIMIT_NOFILE),"
            "os.nice(0)], open(os.environ['D']+'/state','w'))")
    with Job(["--standalone", "--no-python", sys.executable, "-c", look], preexec=prepare) as job:
        assert job.wait() == 0, job.stderr()
        assert json.loads(job.read("state")) == [1, 1, 1 << 11, [777, 888], os.nice(0) + 3], job.read("state")


def test_a_program_called_torchrun_is_muster_run():
    with shell_job(1, "true") as job:
        job.wait()
        link = os.path.join(job.folder, "torchrun")
        os.symlink(os.path.join(os.environ["MUSTER_BIN_DIR"], "muster"), link)
        done = subprocess.run([link, "--standalone", "--no-python", "sh", "-c", "echo $RANK"], capture_output=True, text=True, timeout=30,
                              check=False)
        assert (done.returncode, done.stdout) == (0, "0\n"), done


def test_another_command_is_a_program_of_its_own():
    muster = os.path.join(os.environ["MUSTER_BIN_DIR"], "muster")

    def call(*args, **more):
        return subprocess.run([muster, *args], capture_output=True, text=True, timeout=30, check=False, **more)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "muster-hello")
        with open(path, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\necho "hello $1"\nexit 5\n')
        os.chmod(path, 0o755)
        done = call("hello", "you", env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
        assert (done.returncode, done.stdout) == (5, "hello you\n"), done
    missing = call("nonsense")
    assert missing.returncode == 2 and "muster-nonsense" in missing.stderr, missing
    assert re.fullmatch(r"muster \d+\.\d+\.\d+\n", call("--version").stdout)
    assert "muster run" in call("--help").stdout
    assert call().returncode == 2


def test_guardian_and_agent_stay_small():
    with shell_job(8, 'echo up > "$D/up.$RANK"; exec sleep 600') as job:
        for rank in range(8):
            job.wait_for_file(f"up.{rank}")

        def resident(pid):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1))
        agent = job.agent()
        guardian_kb, agent_kb = resident(job.pid), resident(agent)
        job.popen.terminate()
        assert job.wait() == 143
        print(f"     guardian {guardian_kb} kB, agent {agent_kb} kB")
        with open(os.path.join(os.environ["MUSTER_BIN_DIR"], "muster"), "rb") as file:
            sanitized = b"__asan_init" in (text := file.read()) or b"__tsan_init" in text
        assert sanitized or (guardian_kb <= 4096 and guardian_kb + agent_kb <= 20_000)


run_cases(globals())
