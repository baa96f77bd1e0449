#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals to `muster run`, and who is left when guardian or agent die: nobody, ever."""

import os
import pty
import signal
import socket
import subprocess
import tempfile
import time

from launch_case import Job, run_cases, shell_job
from muster_case import wait_for

UP = 'echo $$$$ > "$D/up.$RANK"; '
LINGER = UP + "exec sleep 600"
# Grandchildren of every kind: in a session of its own, orphaned, ignoring signals.
FAMILY = ('setsid sh -c "trap \'\' TERM INT HUP; sleep 600; sleep 600" & (trap "" TERM; sleep 600 & sleep 600 &); ' + UP + "sleep 600")


def wait_up(job, nproc):
    for rank in range(nproc):
        job.wait_for_file(f"up.{rank}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def test_sigterm_reaches_the_workers_and_ends_the_job():
    with shell_job(4, 'trap "echo term > $D/got.$RANK; exit 0" TERM; ' + UP + "while :; do sleep 0.01; done") as job:
        wait_up(job, 4)
        job.popen.send_signal(signal.SIGTERM)
        assert job.wait() == 128 + signal.SIGTERM
        assert [job.read(f"got.{rank}") for rank in range(4)] == ["term\n"] * 4
        job.expect_nobody_left()


def test_hup_and_quit_reach_workers_as_term():
    for number in (signal.SIGHUP, signal.SIGQUIT):
        with shell_job(1, 'trap "echo term > $D/got; exit 0" TERM; ' + UP + "while :; do sleep 0.01; done") as job:
            wait_up(job, 1)
            job.popen.send_signal(number)
            assert job.wait() == 128 + number
            assert job.read("got") == "term\n"


def test_after_sigint_muster_dies_of_sigint():
    with shell_job(2, LINGER) as job:
        wait_up(job, 2)
        job.popen.send_signal(signal.SIGINT)
        assert job.wait() == -signal.SIGINT
        job.expect_nobody_left()


def test_trapping_workers_are_killed_after_the_grace():
    with shell_job(2, 'trap "" TERM; ' + UP + "sleep 600; sleep 600", "--shutdown-timeout=1") as job:
        wait_up(job, 2)
        begin = time.monotonic()
        job.popen.send_signal(signal.SIGTERM)
        assert job.wait() == 128 + signal.SIGTERM
        assert 0.9 < time.monotonic() - begin < 5
        job.expect_nobody_left()


def test_only_a_second_sigint_escalates():
    with shell_job(2, 'trap "" INT TERM; ' + UP + "sleep 600; sleep 600") as job:
        wait_up(job, 2)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM):
            job.popen.send_signal(number)
            wait_for("the first signal is seen", lambda: "SIGINT" in job.stderr())
        assert job.popen.poll() is None
        job.popen.send_signal(signal.SIGINT)
        assert job.wait(5) == -signal.SIGINT
        job.expect_nobody_left()


def test_stopped_workers_are_continued_to_end():
    with shell_job(2, LINGER) as job:
        wait_up(job, 2)
        os.kill(int(job.read("up.0")), signal.SIGSTOP)
        job.popen.send_signal(signal.SIGTERM)
        assert job.wait(10) == 128 + signal.SIGTERM


def test_a_stopped_agent_still_obeys():
    for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)):
        with shell_job(2, LINGER) as job:
            wait_up(job, 2)
            os.kill(job.agent(), signal.SIGSTOP)
            job.popen.send_signal(number)
            assert job.wait(20) == code
            job.expect_nobody_left()


def test_nohup_is_respected():
    def ignore_hup():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with shell_job(1, UP + "while [ ! -e $D/go ]; do sleep 0.01; done", preexec=ignore_hup) as job:
        wait_up(job, 1)
        job.popen.send_signal(signal.SIGHUP)
        os.kill(job.agent(), signal.SIGHUP)
        open(os.path.join(job.folder, "go"), "w", encoding="ascii").close()
        assert job.wait() == 0, job.stderr()


def test_usr1_is_passed_on():
    with shell_job(1, 'trap "echo usr1 > $D/got; exit 0" USR1; ' + UP + "while :; do sleep 0.01; done") as job:
        wait_up(job, 1)
        job.popen.send_signal(signal.SIGUSR1)
        assert job.wait() == 0
        assert job.read("got") == "usr1\n"


def test_ctrl_z_stops_workers_and_muster_and_fg_continues_them():
    with shell_job(2, UP + "while [ ! -e $D/go ]; do sleep 0.01; done") as job:
        wait_up(job, 2)
        workers = [int(job.read(f"up.{rank}")) for rank in (0, 1)]
        job.popen.send_signal(signal.SIGTSTP)
        # D: a shell whose child was stopped between vfork and exec is as good as stopped.
        wait_for("all are stopped", lambda: state_of(job.pid) == "T" and all(state_of(pid) in "TD" for pid in workers))
        job.popen.send_signal(signal.SIGCONT)
        wait_for("all go on", lambda: all(state_of(pid) != "T" for pid in [job.pid, *workers]))
        open(os.path.join(job.folder, "go"), "w", encoding="ascii").close()
        assert job.wait() == 0


def killed(who):
    with shell_job(3, FAMILY) as job:
        wait_up(job, 3)
        agent = job.agent()
        assert len(job.survivors()) >= 3 + 2
        os.kill(agent if who == "agent" else job.pid, signal.SIGKILL)
        status = job.wait(10)
        job.expect_nobody_left(5)
        return status


def test_the_agents_death_ends_everybody():
    status = killed("agent")
    assert status == 128 + signal.SIGKILL, status


def test_the_guardians_death_ends_everybody():
    status = killed("guardian")
    assert status == -signal.SIGKILL, status


def test_the_death_of_both_ends_the_workers():
    with shell_job(3, LINGER) as job:
        wait_up(job, 3)
        agent = job.agent()
        os.kill(job.pid, signal.SIGSTOP)
        os.kill(agent, signal.SIGKILL)
        os.kill(job.pid, signal.SIGKILL)
        job.wait(10)
        job.expect_nobody_left()


def test_nobody_survives_a_job_that_succeeds_or_fails():
    for code in (0, 3):
        family = FAMILY.replace("sleep 600", "sleep 601", 1).removesuffix("sleep 600") + f"exit {code}"
        with shell_job(2, family) as job:
            assert job.wait(10) == code, job.stderr()
            job.expect_nobody_left(1)


def test_a_signal_while_nothing_runs_yet_is_obeyed():
    # Two nodes asked for, one there: the wait for the other ends at once.
    with Job(["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--no-python", "true"]) as job:
        wait_for("it sleeps in its wait", lambda: state_of(job.agent()) == "S")
        begin = time.monotonic()
        job.popen.send_signal(signal.SIGINT)
        assert job.wait(10) == -signal.SIGINT, job.stderr()
        assert time.monotonic() - begin < 7


def test_ctrl_c_on_a_terminal_ends_the_job():
    leader, follower = pty.openpty()
    with shell_job(2, LINGER, stdin=follower, preexec=lambda: take_terminal(0)) as job:
        wait_up(job, 2)
        os.write(leader, b"\x03")
        assert job.wait(10) == -signal.SIGINT
        job.expect_nobody_left()
    os.close(leader)
    os.close(follower)


def test_a_start_that_hangs_is_ended_by_a_signal_and_by_the_guardians_death():
    for number, times, status in ((signal.SIGTERM, 1, 128 + signal.SIGTERM), (signal.SIGINT, 2, -signal.SIGINT), (signal.SIGKILL, 1, -signal.SIGKILL)):
        with tempfile.TemporaryDirectory() as folder:
            silent = os.path.join(folder, "certificate")
            os.mkfifo(silent)
            tls = [f"--tls-{name}={silent}" for name in ("cert", "key", "ca")]
            with Job(["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", *tls, "--no-python", "true"]) as job:
                writer = wait_for("the agent reads the certificate, or cannot", lambda job=job, silent=silent: opened(silent) or job.popen.poll())
                if job.popen.poll() is not None:
                    print("     (no TLS here: part left out)")
                    return
                for _ in range(times):
                    job.popen.send_signal(number)
                assert job.wait(10) == status, job.stderr()
                job.expect_nobody_left()
                os.close(writer)


def opened(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads it
        return None


def take_terminal(fd):
    import fcntl
    import termios
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


def test_as_first_process_of_a_container_strangers_are_left_alone():
    unshare = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False)
    if unshare.returncode != 0:
        print("     (no PID namespace here: part left out)")
        return
    muster = os.path.join(os.environ["MUSTER_BIN_DIR"], "muster")
    script = (f'exec {muster} run --standalone --nproc-per-node=2 --no-python sh -c '
              '"echo in > $D/up.\\$RANK; sleep 0.05; exit 4"')
    with Job(["--pid", "--fork", "--mount-proc", "sh", "-c", script], name="unshare") as job:
        assert job.wait(20) == 4, job.stderr()
        job.expect_nobody_left()


run_cases(globals())
