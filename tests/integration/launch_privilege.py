#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent of several nodes takes for itself (files, priority, memory, OOM score), and that no worker has any of it."""

import contextlib
import ctypes
import mmap
import os
import re
import resource
import shutil
import socket
import subprocess

from launch_case import Job, run_cases
from muster_case import binary, wait_for

STATE = ("{ sed -n 's/^Max \\(open files\\|locked memory\\)  *//p' /proc/self/limits; nice; cat /proc/self/oom_score_adj; } "
         "> $D/writing; mv $D/writing $D/state.$TORCHELASTIC_RESTART_COUNT; ")
FIRST_FAILS = "[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 3"
HOLD = "echo up > $D/up; while [ ! -e $D/go ]; do sleep 0.01; done"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def modest():
    """Few files, little locked memory, a priority of its own; an OOM score that may be lowered again without any capability."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]))
    os.nice(2)
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")


def nodes(stack, script, *before):
    """Two nodes of one job, one worker each."""
    arguments = ["--nnodes=2", "--nproc-per-node=1", "--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-id=privilege",
                 f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--no-python", "sh", "-c", script]
    if before:
        arguments = [*before[1:], binary("muster"), "run", *arguments]
    return [stack.enter_context(Job(arguments, preexec=modest, name=before[0] if before else None)) for _ in range(2)]


def allowed(what):
    """Whether a process started as ours may do so."""
    pid = os.fork()
    if pid == 0:
        try:
            what()
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def found_state():
    """What a worker sees that was started as muster is."""
    limits = subprocess.run(["sed", "-n", "s/^Max \\(open files\\|locked memory\\)  *//p", "/proc/self/limits"], preexec_fn=modest,
                            capture_output=True, text=True, check=True).stdout
    return f"{limits}{os.getpriority(os.PRIO_PROCESS, 0) + 2}\n500\n"


def score_of(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


def lock_beyond_limit():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]))
    page = mmap.mmap(-1, mmap.PAGESIZE)
    if ctypes.CDLL(None, use_errno=True).mlock(ctypes.byref(ctypes.c_char.from_buffer(page)), ctypes.c_size_t(1)) != 0:
        raise OSError(ctypes.get_errno(), "mlock")


def field(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(rf"^{name}:\s+(\d+)", file.read(), re.M).group(1))


def test_the_agent_takes_what_it_may():
    with contextlib.ExitStack() as stack:
        jobs = nodes(stack, HOLD)
        for job in jobs:
            job.wait_for_file("up")
            agent = job.agent()
            with open(f"/proc/{agent}/limits", encoding="ascii") as file:
                soft, hard = re.search(r"Max open files\s+(\d+)\s+(\d+)", file.read()).groups()
            assert soft == hard, (soft, hard)
            if allowed(lambda: os.nice(-1)):
                with open(f"/proc/{agent}/stat", encoding="ascii") as file:
                    nice = int(file.read().rsplit(")", 1)[1].split()[16])
                assert nice == os.getpriority(os.PRIO_PROCESS, 0) + 2 - 5, nice
            wait_for("its OOM score is lower", lambda agent=agent: score_of(agent) == 0)
            if allowed(lock_beyond_limit):
                wait_for("its memory is locked", lambda: field(agent, "VmLck") > 0)
        for job in jobs:
            open(os.path.join(job.folder, "go"), "w", encoding="ascii").close()
        for job in jobs:
            assert job.wait() == 0, job.stderr()


def test_no_worker_has_any_of_it_in_any_round():
    with contextlib.ExitStack() as stack:
        seen = {0: [], 1: []}
        for job in nodes(stack, STATE + FIRST_FAILS):
            assert job.wait() == 0, job.stderr()
            for attempt in (0, 1):
                if os.path.exists(os.path.join(job.folder, f"state.{attempt}")):  # one may be stopped before it has begun
                    seen[attempt].append(job.read(f"state.{attempt}"))
        assert seen[0] and len(seen[1]) == 2, seen
        assert set(seen[0] + seen[1]) == {found_state()}, (seen, found_state())


def test_where_nothing_is_allowed_the_job_runs_as_well():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("     (not root, or no setpriv: the other cases are this one)")
        return
    with contextlib.ExitStack() as stack:
        for job in nodes(stack, STATE + FIRST_FAILS, "setpriv", "--inh-caps=-all", "--bounding-set=-all"):
            assert job.wait() == 0, job.stderr()
            assert job.read("state.1") == found_state(), job.read("state.1")


run_cases(globals())
