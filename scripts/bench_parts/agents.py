# SPDX-License-Identifier: Apache-2.0
"""agents: real `muster run` agents of one job on this machine, from the first start to the last exit, beside torchrun's."""

import os
import signal
import statistics
import subprocess
import tempfile
import time

from bench_parts.figures import note
from bench_parts.programs import MUSTER, TORCHRUN, free_port, has_torch

MUSTER_AGENTS, TORCHRUN_AGENTS = 128, 16
SMOKE_MUSTER_AGENTS, SMOKE_TORCHRUN_AGENTS = 8, 2
REPETITIONS = 5
HUNG_SECONDS = 150
MOST_OF_TORCHRUN = 0.1


def start(launcher, count, port, folder):
    """The agents, each with a file for what it says."""
    command = [*launcher, f"--nnodes={count}", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}",
               f"--rdzv-id=agents-{port}", f"--log-dir={folder}", "--no-python", "/bin/true"]
    found = []
    for index in range(count):
        with open(os.path.join(folder, f"agent-{index}"), "wb") as said:
            found.append(subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=said, stderr=said))
    return found


def wait_all(agents, seconds):
    """Waits for all; those that still run at the deadline are killed. Their number."""
    end = time.monotonic() + seconds
    hung = []
    for agent in agents:
        try:
            agent.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            hung.append(agent)
    for agent in hung:
        os.killpg(agent.pid, signal.SIGKILL)
        agent.wait()
    return len(hung)


def said_by(folder, index):
    with open(os.path.join(folder, f"agent-{index}"), encoding="utf-8", errors="replace") as file:
        return file.read()[-2000:]


def timed(launcher, count):
    """Seconds from the first start to the last exit; None where some never ended, or not well."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        begin = time.perf_counter()
        agents = start(launcher, count, free_port(), folder)
        hung = wait_all(agents, HUNG_SECONDS)
        seconds = time.perf_counter() - begin
        name = os.path.basename(launcher[0])
        if hung:
            note(f"{hung} of {count} {name} agents still ran after {HUNG_SECONDS} s")
            return None
        for index, agent in enumerate(agents):
            if agent.returncode != 0:
                note(f"agent {index} of {count} ({name}) exited with {agent.returncode}:\n{said_by(folder, index)}")
                return None
        return seconds


def agents(figures, options):
    figures.title("agents of one job on this machine, /bin/true, first start to last exit")
    smoke = options.reps == 1
    count = SMOKE_MUSTER_AGENTS if smoke else MUSTER_AGENTS
    times = [timed([MUSTER, "run"], count) for _ in range(1 if smoke else REPETITIONS)]
    failed = times.count(None)
    if failed:
        figures.add(f"agents: {count} of muster: runs that failed", failed, "", len(times), most=0)
    times = [seconds for seconds in times if seconds is not None]
    if not times:
        return
    ours = statistics.median(times)
    figures.add(f"agents: {count} of muster", ours, "s", len(times))
    if not (options.peers and has_torch()):
        return
    few = SMOKE_TORCHRUN_AGENTS if smoke else TORCHRUN_AGENTS
    theirs = timed([TORCHRUN], few)
    if theirs is not None:
        figures.add(f"agents: {few} of torchrun", theirs, "s", 1)
        figures.add(f"agents: {count} of muster / {few} of torchrun", ours / theirs, "x", 1, most=MOST_OF_TORCHRUN)
