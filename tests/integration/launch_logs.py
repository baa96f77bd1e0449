#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the output of workers goes: files, console, filters; and consoles that nobody reads."""

import fcntl
import glob
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

from launch_case import Job, run_cases, shell_job
from muster_case import wait_for

SPEAK = 'echo "out $RANK"; echo "err $RANK" >&2'


def logs(job, log_dir="logs"):
    """Path below the run's folder -> content, of all files."""
    found = {}
    for path in glob.glob(os.path.join(job.folder, log_dir, "*", "**", "*"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found["/".join(os.path.relpath(path, os.path.join(job.folder, log_dir)).split("/")[1:])] = file.read()
    return found


def logged_job(nproc, script, *options, **more):
    return shell_job(nproc, script, "--log-dir=logs", *options, **more)


def test_without_options_workers_write_to_our_streams_and_no_file():
    with logged_job(2, SPEAK) as job:
        assert job.wait() == 0, job.stderr()
        assert sorted(job.stdout().splitlines()) == ["out 0", "out 1"]
        rest = [line for line in job.stderr().splitlines() if not line.startswith("muster: run ")]
        assert sorted(rest) == ["err 0", "err 1"], rest
        assert len(job.own_lines()) == 1  # the start line, nothing else
        assert logs(job) == {}
        run_folder = glob.glob(f"{job.folder}/logs/*")
        assert len(run_folder) == 1 and re.fullmatch(r".*_[a-z0-9_]{8}", run_folder[0])
        assert sorted(os.listdir(f"{run_folder[0]}/attempt_0")) == ["0", "1"]


def test_redirects_go_to_files_alone():
    with logged_job(2, SPEAK, "-r", "3") as job:
        assert job.wait() == 0, job.stderr()
        assert job.stdout() == "" and len(job.stderr().splitlines()) == 1
        assert logs(job) == {f"attempt_0/{rank}/std{which}.log": f"{which} {rank}\n".encode() for rank in (0, 1) for which in ("out", "err")}


def test_the_error_file_has_a_full_path():
    with logged_job(1, 'echo "$TORCHELASTIC_ERROR_FILE" > $D/error') as job:
        assert job.wait() == 0, job.stderr()
        assert job.read("error").startswith(job.folder + "/logs/"), job.read("error")


def test_redirects_of_one_rank_and_one_stream():
    with logged_job(3, SPEAK, "--redirects=1:1,2:2") as job:
        assert job.wait() == 0, job.stderr()
        assert sorted(logs(job)) == ["attempt_0/1/stdout.log", "attempt_0/2/stderr.log"]
        assert sorted(job.stdout().splitlines()) == ["out 0", "out 2"]


def test_tee_goes_to_files_and_with_prefix_to_the_console():
    with logged_job(2, SPEAK, "--tee=3", "--role=trainer") as job:
        assert job.wait() == 0, job.stderr()
        assert sorted(job.stdout().splitlines()) == ["[trainer0]:out 0", "[trainer1]:out 1"]
        assert "[trainer1]:err 1\n" in job.stderr()
        assert logs(job)["attempt_0/1/stdout.log"] == b"out 1\n"


def test_the_prefix_follows_the_template():
    with logged_job(1, SPEAK, "--tee=1", env={"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "<${role_name} ${rank}> "}) as job:
        assert job.wait() == 0, job.stderr()
        assert job.stdout() == "<default 0> out 0\n"


def test_local_ranks_filter_leaves_files_alone():
    with logged_job(3, SPEAK, "--tee=1", "--local-ranks-filter=1") as job:
        assert job.wait() == 0, job.stderr()
        assert job.stdout() == "[default1]:out 1\n"
        assert len(logs(job)) == 3
        assert [line for line in job.stderr().splitlines() if not line.startswith("muster: ")] == ["err 1"]


def test_duplicate_filters_collect_matching_lines():
    script = 'echo "loss $RANK"; echo other; echo "bad $RANK" >&2'
    with logged_job(2, script, "--tee=3", "--duplicate-stdout-filters=loss", "--duplicate-stderr-filters=bad") as job:
        assert job.wait() == 0, job.stderr()
        found = logs(job)
        assert sorted(found["attempt_0/filtered_stdout.log"].splitlines()) == [b"[default0]:loss 0", b"[default1]:loss 1"]
        assert sorted(found["attempt_0/filtered_stderr.log"].splitlines()) == [b"[default0]:bad 0", b"[default1]:bad 1"]


def test_dev_null_as_log_folder_makes_no_files():
    with shell_job(2, SPEAK + '; echo "$TORCHELASTIC_ERROR_FILE" > $D/error.$RANK', "--log-dir=/dev/null", "--tee=1") as job:
        assert job.wait() == 0, job.stderr()
        assert job.read("error.0") == "\n"
        assert sorted(job.stdout().splitlines()) == ["[default0]:out 0", "[default1]:out 1"]
        assert glob.glob(f"{job.folder}/torchelastic*") == []


def test_bytes_arrive_unchanged():
    code = r"import os,sys; os.write(1, bytes(range(256)) * 300 + b'\nlast line without end')"
    with Job(["--standalone", "--log-dir=logs", "--tee=1", "--no-python", sys.executable, "-c", code]) as job:
        assert job.wait() == 0, job.stderr()
        assert logs(job)["attempt_0/0/stdout.log"] == bytes(range(256)) * 300 + b"\nlast line without end"


def test_lines_of_several_ranks_are_never_mixed():
    script = 'i=0; while [ $i -lt 300 ]; do printf "r$RANK "; echo "$i abcdefghijklmnopqrstuvwxyz $RANK"; i=$((i+1)); done'
    with logged_job(4, script, "--tee=1") as job:
        assert job.wait() == 0, job.stderr()
        lines = job.stdout().splitlines()
        assert len(lines) == 1200
        for line in lines:
            assert re.fullmatch(r"\[default(\d)\]:r\1 \d+ abcdefghijklmnopqrstuvwxyz \1", line), line


def test_each_attempt_has_its_folder():
    with logged_job(2, 'echo "attempt $TORCHELASTIC_RESTART_COUNT"; [ $TORCHELASTIC_RESTART_COUNT = 2 ]', "-r", "1", "--max-restarts=2") as job:
        assert job.wait() == 0, job.stderr()
        found = logs(job)
        for attempt in (0, 1, 2):
            # Of an attempt that failed, at least the one who failed has spoken.
            texts = [found[f"attempt_{attempt}/{rank}/stdout.log"] for rank in (0, 1)]
            assert f"attempt {attempt}\n".encode() in texts, texts


def silent_disk_job(*options):
    """Its second attempt opens a log file that is a FIFO without a reader: a file system that does not answer."""
    fifo = "RUN=${TORCHELASTIC_ERROR_FILE%%/attempt_*}; mkdir -p $RUN/attempt_1/0; mkfifo $RUN/attempt_1/0/stdout.log; echo up > $D/up; exit 1"
    return logged_job(1, fifo, "--redirects=1", "--max-restarts=1", *options)


def test_a_disk_that_does_not_answer_ends_the_job_with_a_line_that_says_so():
    with silent_disk_job() as job:
        job.wait_for_file("up")
        assert job.wait(40) == 1, job.stderr()
        line = re.search(r"muster: making log folders and files in 'logs' took more than 20 s .*--log-dir.*", job.stderr())
        assert line, job.stderr()
        job.expect_nobody_left()


def test_an_error_file_on_a_silent_disk_does_not_hold_up_the_end():
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "error.json")
        os.mkfifo(fifo)
        with shell_job(1, "exit 3", env={"TORCHELASTIC_ERROR_FILE": fifo}) as job:
            assert job.wait(20) == 3, job.stderr()
            assert "its file system does not answer" in job.stderr()


def test_ctrl_c_is_obeyed_while_the_disk_does_not_answer():
    with silent_disk_job() as job:
        job.wait_for_file("up")
        wait_for("the disk is asked", lambda: os.path.exists(glob.glob(f"{job.folder}/logs/*/attempt_1/0/stdout.log")[0]))
        job.popen.send_signal(signal.SIGINT)
        assert job.wait(10) == -signal.SIGINT, job.stderr()
        job.expect_nobody_left()


def test_a_lone_worker_keeps_the_terminal():
    leader, follower = pty.openpty()
    with shell_job(1, '[ -t 1 ] && [ -t 2 ] && echo yes > $D/tty || echo no > $D/tty', stdout=follower, stderr=follower) as job:
        assert job.wait() == 0
        assert job.read("tty") == "yes\n"
    os.close(leader)
    os.close(follower)


def test_a_console_that_nobody_reads_stops_no_worker():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    script = 'i=0; while [ $i -lt 200 ]; do head -c 100000 /dev/zero | tr "\\0" x; echo; i=$((i+1)); done; echo done > $D/done.$RANK'
    with shell_job(2, script, stdout=write) as job:
        os.close(write)
        job.wait_for_file("done.0", 60)
        job.wait_for_file("done.1", 60)
        # A reader that comes back is told what it missed, and the job ends.
        reader = subprocess.Popen(["cat"], stdin=read, stdout=subprocess.PIPE)
        os.close(read)
        text = reader.communicate()[0]
        assert job.wait(30) == 0
        assert b"were dropped here" in text, len(text)
        assert len(text) < 2 * 200 * 100_000


def test_a_console_that_is_gone_ends_nothing():
    read, write = os.pipe()
    os.close(read)
    with logged_job(2, SPEAK + '; sleep 0.1; echo again; echo done > $D/done.$RANK', "--tee=1", stdout=write) as job:
        os.close(write)
        assert job.wait() == 0, job.stderr()
        assert job.read("done.0") == job.read("done.1") == "done\n"
        assert logs(job)["attempt_0/0/stdout.log"] == b"out 0\nagain\n"


def test_our_descriptors_stay_blocking():
    read, write = os.pipe()
    with shell_job(2, SPEAK, stdout=write) as job:
        assert job.wait() == 0
        assert fcntl.fcntl(write, fcntl.F_GETFL) & os.O_NONBLOCK == 0
    os.close(read)
    os.close(write)


def test_a_burst_into_a_slow_reader_is_complete():
    read, write = os.pipe()
    script = 'head -c 20000000 /dev/zero | tr "\\0" x | fold -w 99'
    with shell_job(2, script, stdout=write) as job:
        os.close(write)
        slow = "import os,time\nn=0\nwhile True:\n b=os.read(0,1<<16)\n if not b: break\n n+=len(b); time.sleep(0.0005)\nprint(n)"
        reader = subprocess.Popen([sys.executable, "-c", slow], stdin=read, stdout=subprocess.PIPE)
        os.close(read)
        assert job.wait(90) == 0
        counted = int(reader.communicate()[0])
        wait_for("the reader is done", lambda: reader.poll() == 0)
        expected = 2 * (20_000_000 + 20_000_000 // 99)
        assert abs(counted - expected) <= 2, (counted, expected)


run_cases(globals())
