#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that fail: exit codes, restarts, reports; and input that cannot work: one line, nothing started, nothing left."""

import glob
import json
import os
import re
import socket
import sys
import time

from launch_case import Job, run_cases, shell_job

RAISE = """import os, sys, json
json.dump({"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": "Traceback: line 1", "timestamp": "1700000000"}}},
          open(os.environ["TORCHELASTIC_ERROR_FILE"], "w"))
print("last words of", os.environ["RANK"], file=sys.stderr)
sys.exit(3)
"""


def test_all_good_is_zero_and_one_line():
    with shell_job(4, "exit 0") as job:
        assert job.wait() == 0
        assert len(job.stderr().splitlines()) == 1
        assert re.fullmatch(r"muster: run \S+: 4 workers on 1 node, logs in \S+", job.stderr().strip()), job.stderr()


def test_the_exit_code_is_the_causes():
    with shell_job(3, '[ $RANK = 1 ] && exit 7; sleep 600') as job:
        assert job.wait(10) == 7, job.stderr()
        assert "exitcode  : 7" in job.stderr()
        job.expect_nobody_left()


def test_a_signal_is_128_and_more():
    with shell_job(3, '[ $RANK = 2 ] && kill -SEGV $$$$; sleep 600') as job:
        assert job.wait(10) == 139, job.stderr()
        assert "SIGSEGV" in job.stderr()


def test_a_follower_that_only_lost_its_peer_is_not_the_cause():
    # Rank 0 notices at once that rank 1 is gone, and even exits first.
    with shell_job(2, '[ $RANK = 0 ] && exit 89; sleep 0.02; exit 5') as job:
        assert job.wait(10) in (5, 89), job.stderr()


def test_the_last_words_of_the_first_failing_rank_are_shown():
    with shell_job(2, '[ $RANK = 1 ] && { echo "disk full" >&2; exit 4; }; sleep 600') as job:
        assert job.wait(10) == 4
        summary = job.stderr()[job.stderr().index("===="):]
        assert "disk full" in summary and "rank      : 1 (local_rank: 1)" in summary, summary


def test_the_last_words_are_found_in_a_redirected_file_too():
    with shell_job(2, '[ $RANK = 1 ] && { echo "disk full" >&2; exit 4; }; sleep 600', "-r", "3") as job:
        assert job.wait(10) == 4
        assert "disk full" in job.stderr()[job.stderr().index("===="):]


def test_error_files_are_read_and_handed_on():
    with Job(["--standalone", "--nproc-per-node=2", "--no-python", sys.executable, "-c", RAISE]) as job:
        assert job.wait(20) == 3
        assert "ValueError: boom" in job.stderr() or "Traceback: line 1" in job.stderr()
    with Job(["--standalone", "--no-python", sys.executable, "-c", RAISE], env={"TORCHELASTIC_ERROR_FILE": "reply.json"}) as job:
        assert job.wait(20) == 3
        reply = json.loads(job.read("reply.json"))
        assert reply["message"]["message"] == "ValueError: boom" and reply["message"]["errorCode"] == 3, reply


def test_the_whole_world_restarts_and_the_count_is_told():
    script = ('echo x >> $D/started.$RANK; [ $TORCHELASTIC_RESTART_COUNT = 2 ] && exit 0; [ $RANK = 0 ] || sleep 600; '
              'until [ $(cat $D/started.* | wc -l) = $((3 * TORCHELASTIC_RESTART_COUNT + 3)) ]; do sleep 0.01; done; exit 9')
    with shell_job(3, script, "--max-restarts=2") as job:
        assert job.wait(20) == 0, job.stderr()
        assert [len(job.read(f"started.{rank}").split()) for rank in range(3)] == [3, 3, 3]
        lines = job.own_lines()
        assert len(lines) == 3 and "restart 1 of 2" in lines[1] and "exited with code 9" in lines[1], lines


def test_a_spent_budget_ends_with_the_causes_code():
    with shell_job(2, '[ $RANK = 0 ] && exit 9; sleep 600', "--max-restarts=1") as job:
        assert job.wait(20) == 9, job.stderr()
        job.expect_nobody_left()


def test_a_restart_waits_for_stubborn_workers_and_kills_them():
    first = 'while [ ! -e "$D/deaf" ]; do sleep 0.01; done; exit 9'  # not before the other one ignores SIGTERM
    script = 'trap "" TERM; [ $RANK$TORCHELASTIC_RESTART_COUNT = 00 ] && { ' + first + '; }; : > "$D/deaf"; [ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; sleep 600; sleep 600'
    with shell_job(2, script, "--max-restarts=1", "--shutdown-timeout=1") as job:
        begin = time.monotonic()
        assert job.wait(20) == 0, job.stderr()
        assert time.monotonic() - begin > 0.9


def refused(args, *, code, words, env=None, seconds=1.5):
    begin = time.monotonic()
    with Job(args, env=env) as job:
        assert job.wait(20) == code, (job.popen.returncode, job.stderr())
        took = time.monotonic() - begin
        lines = job.stderr().strip().splitlines()
        assert len(lines) == 1, lines
        for word in words:
            assert word in lines[0], lines
        assert job.stdout() == ""
        left = [path for path in os.listdir(job.folder) if path not in ("out", "err")]
        assert left == [], left
        job.expect_nobody_left(0.5)
        assert took < seconds, took


def test_a_missing_or_unfit_program_is_refused():
    refused(["--standalone", "/not/there.py"], code=127, words=["/not/there.py"])
    refused(["--standalone", "--no-python", "not-a-program-at-all"], code=127, words=["not-a-program-at-all"])
    refused(["--standalone", "--no-python", "/etc/passwd"], code=126, words=["/etc/passwd"])


def test_a_program_that_the_system_refuses_ends_the_job():
    with shell_job(1, "true") as job:
        job.wait()
        path = os.path.join(job.folder, "no_line")
        with open(path, "w", encoding="ascii") as file:
            file.write("echo hello\n")
        os.chmod(path, 0o755)
        with Job(["--standalone", "--nproc-per-node=2", "--no-python", path]) as other:
            assert other.wait(10) == 126
            assert "#!" in other.stderr() and len(other.stderr().splitlines()) == 1, other.stderr()
            other.expect_nobody_left()


def test_a_taken_port_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused(["--nnodes=1", "--master-addr=127.0.0.1", f"--master-port={port}", "--no-python", "true"], code=1, words=[port])


def test_an_unknown_host_is_refused():
    refused(["--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=head.invalid:29400", "--no-python", "true"], code=1,
            words=["head.invalid", "--rdzv-endpoint"])


def test_impossible_options_are_refused():
    refused(["--nnodes=0", "--no-python", "true"], code=1, words=["nnodes"])
    refused(["--nproc-per-node=0", "--no-python", "true"], code=1, words=["nproc"])
    refused(["--standalone", "--nproc-per-node=gpu", "--no-python", "true"], code=1, words=["GPU"], env={"CUDA_VISIBLE_DEVICES": ""})


def test_a_log_folder_that_cannot_be_is_refused():
    refused(["--standalone", "--log-dir=/proc/none/there", "--no-python", "true"], code=1, words=["/proc/none", "--log-dir"])
    refused(["--standalone", "--log-dir=/etc/passwd", "--no-python", "true"], code=1, words=["/etc/passwd"])


def test_folders_of_a_job_are_torchruns():
    with shell_job(1, "true", "--rdzv-id=x") as job:
        assert job.wait() == 0
        assert len(glob.glob(f"{job.folder}/torchelastic_*/*_????????/attempt_0/0")) == 1


run_cases(globals())
