#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several `muster run` agents on loopback as the nodes of one job: they meet, restart together, end together.

Usage: two_nodes_test.py CASE (see CASES at the end). The workers are shell scripts; waits end at a line or a state.
"""

import fcntl
import shutil
import signal
import socket
import sys
import tempfile
import time

from muster_case import Process, binary, let_pass, wait_for
from node_job import HOLD, Job, expect, holds, kill_agent, kill_node, lines, ranks

SPARE = 3.0  # for a machine that is busy with other tests


def meet(static):
    with Job("--nnodes=2", static=static, script="echo at $$RANK/$$WORLD_SIZE $$GROUP_RANK/$$GROUP_WORLD_SIZE $$MASTER_ADDR:$$MASTER_PORT") as job:
        nodes = [job.start(rank=1), job.start(rank=0)]
        for node in nodes:
            expect(node.wait(), 0, node)
        seen = sorted(found for node in nodes for found in lines(node, r"at (\d)/4 (\d)/2 (\S+)"))
        assert [found[0] for found in seen] == ["0", "1", "2", "3"], seen
        assert {found[2] for found in seen} and len({found[2] for found in seen}) == 1, seen
        if static:
            assert seen[0][2] == f"127.0.0.1:{job.port}", seen
            assert lines(nodes[1], r"at 0/4"), nodes[1].output()


def restart(static):
    first = "[ $$TORCHELASTIC_RESTART_COUNT = 0 ] && [ $$RANK = 3 ] && exit 5; [ $$TORCHELASTIC_RESTART_COUNT = 0 ] && exec sleep 60; "
    with Job("--nnodes=2", "--max-restarts=1", static=static, script=first + "echo again $$RANK $$TORCHELASTIC_RESTART_COUNT") as job:
        nodes = [job.start(rank=0), job.start(rank=1)]
        for node in nodes:
            expect(node.wait(), 0, node)
            assert len(lines(node, r"again \d 1")) == 2, node.output()


def failure():
    with Job("--nnodes=2", script="[ $$RANK = 2 ] && exit 41; exec sleep 60") as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            expect(node.wait(), 41, node)


def static_member_returns():
    """Ranks are given: a node that is started again has its old one, and the job goes on; a rank that stays away ends it."""
    with Job("--nnodes=2", static=True, script=HOLD, conf="timeout=5") as job:
        host, other = job.start_host(rank=0), job.start(rank=1)
        for node in job.nodes:
            holds(node, 4)
        kill_agent(other)
        host.wait_for_output("1 of at least 2 nodes are left")
        again = job.start(rank=1)
        number = holds(host, 4, after=1)
        assert holds(again, 4) == number
        assert ranks(host, number) == [0, 1] and ranks(again, number) == [2, 3]
        kill_agent(again)
        expect(host.wait(), 81, host)
        job.nobody_is_left()


def static_host_lost():
    """Nobody can take over from node rank 0, which every node names: the others end."""
    with Job("--nnodes=2", static=True, script=HOLD, conf="dead=2") as job:
        host, other = job.start_host(rank=0), job.start(rank=1)
        for node in job.nodes:
            holds(node, 4)
        kill_node(host)
        expect(other.wait(), 83, other)
        job.nobody_is_left()


def slow_program():
    """A program that its file server does not hand out for longer than `dead`: nobody is evicted, and it runs when it comes."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    with Job("--nnodes=2", "--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=2", script=HOLD) as job, \
            tempfile.TemporaryDirectory() as folder:
        program = shutil.copy("/bin/sh", f"{folder}/slow_sh")
        with open(program, "rb") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)  # whoever opens it now waits
            other = job.start()
            slow = job.start(program=program)
            holds(other, 4)
            let_pass(4)
            assert not lines(slow, "held"), slow.output()
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        holds(slow, 4)
        for node in (other, slow):
            assert node.popen.poll() is None, node.output()


def elastic():
    with Job("--nnodes=2:4", "--rdzv-conf=last_call_timeout=1", script="echo of $$WORLD_SIZE") as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            expect(node.wait(), 0, node)
            assert len(lines(node, "of 4")) == 2, node.output()


def timeout():
    with Job("--nnodes=3", "--rdzv-conf=join_timeout=2") as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            expect(node.wait(), 80, node)
            node.wait_for_output("2 of 3 nodes")


def contradiction():
    with Job("--nnodes=2", script=HOLD) as job:
        job.start_host()
        other_size = job.start("--nnodes=3")
        expect(other_size.wait(), 84, other_size)
        other_size.wait_for_output("--nnodes=3.*--nnodes=2")
        other_job = job.start(run_id="another")
        expect(other_job.wait(), 84, other_job)
        other_job.wait_for_output("another")


def same_rank():
    with Job("--nnodes=3", static=True, script=HOLD) as job:
        job.start_host(rank=0)
        twins = [job.start(rank=1), job.start(rank=1)]
        refused = wait_for("the twin that came second has ended", lambda: [twin for twin in twins if twin.popen.poll() is not None])[0]
        expect(refused.wait(), 84, refused)
        refused.wait_for_output("node rank 1")


def signaled():
    with Job("--nnodes=2", script=HOLD) as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            holds(node, 4)
        nodes[1].signal(signal.SIGTERM)
        for node in nodes:
            assert node.wait() != 0, node.output()
        assert lines(nodes[0], r"host \S+: received SIGTERM"), nodes[0].output()
        job.nobody_is_left()


def daemon():
    """Two jobs on one musterd, which never see each other; then an id that was used is used again."""
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as host:
        port = int(host.wait_for_output(r"listening on \S+:(\d+)").group(1))
        for _ in range(2):
            jobs = [Job("--nnodes=2", script=f"echo job {name} $$RANK/$$WORLD_SIZE") for name in "ab"]
            with jobs[0], jobs[1]:
                for name, job in zip("ab", jobs):
                    job.ports = [port]
                    for _ in range(2):
                        job.start(run_id=name)
                for name, job in zip("ab", jobs):
                    for node in job.nodes:
                        expect(node.wait(), 0, node)
                        assert len(lines(node, rf"job {name} \d/4")) == 2, node.output()


def taken():
    with socket.socket() as other, tempfile.TemporaryDirectory() as folder:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [binary("muster"), "run", "--nnodes=2", "--no-python", f"--log-dir={folder}", "--master-addr=127.0.0.1",
                   f"--master-port={port}", "true"]
        begin = time.monotonic()
        with Process(command) as node:
            assert node.wait() == 1, node.output()
            node.wait_for_output(f"{port}")
        assert time.monotonic() - begin < 1 + SPARE


CASES = {
    "meet_c10d": lambda: meet(static=False),
    "meet_static": lambda: meet(static=True),
    "restart_c10d": lambda: restart(static=False),
    "restart_static": lambda: restart(static=True),
    "failure": failure,
    "static_member_returns": static_member_returns,
    "static_host_lost": static_host_lost,
    "slow_program": slow_program,
    "elastic": elastic,
    "timeout": timeout,
    "contradiction": contradiction,
    "same_rank": same_rank,
    "signaled": signaled,
    "daemon": daemon,
    "taken": taken,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
