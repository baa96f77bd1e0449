#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several `muster run` agents on loopback as the nodes of one job: they meet, restart together, end together.

Usage: two_nodes_test.py CASE (see CASES at the end). The workers are shell scripts; waits end at a line or a state.
"""

import os
import re
import signal
import socket
import sys
import tempfile
import time

from muster_case import Process, binary, processes_with, wait_for

END = 7.0  # a lost node ends the job everywhere within so many seconds
SPARE = 3.0  # for a machine that is busy with other tests
HOLD = "trap 'exit 0' TERM; echo held $$RANK; while :; do sleep 0.05; done"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    """Nodes of one job; all are ended when the block is left."""

    def __init__(self, *options, static=False, script="true"):
        self.port = free_port()
        self.mark = f"two-nodes-{os.getpid()}-{self.port}"
        self.options = list(options)
        self.static = static
        self.script = script
        self.nodes = []

    def start(self, *options, rank=None, script=None, run_id=None):
        command = [binary("muster"), "run", "--no-python", "--nproc-per-node=2", *self.options, *options]
        if self.static:
            command += [f"--node-rank={rank}", "--master-addr=127.0.0.1", f"--master-port={self.port}"]
        else:
            command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}", f"--rdzv-id={run_id or self.mark}"]
        command += ["/bin/sh", "-c", script or self.script]
        node = Process(command, extra_env={"TWO_NODES_MARK": self.mark})
        self.nodes.append(node)
        return node

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for node in self.nodes:
            node.__exit__(kind, error, trace)


def lines(node, pattern):
    return re.findall(pattern, node.output(), re.M)


def expect(status, wanted, node):
    assert status == wanted, f"exit status {status}, wanted {wanted}:\n{node.output()}"


def agents_of(node):
    """Guardian and agent of a node: the processes named muster below the one that was started."""
    family, grown = {node.pid}, True
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        parents[int(pid)] = (int(rest.split()[1]), name)
    while grown:
        more = {pid for pid, (parent, name) in parents.items() if parent in family and name.startswith("muster")}
        grown = not more <= family
        family |= more
    return sorted(family, reverse=True)


def kill_node(node):
    for pid in agents_of(node):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


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


def lost(hosting):
    with Job("--nnodes=2", script=HOLD) as job:
        host = job.start()
        wait_for("the first node hosts", lambda: listens(job.port))
        other = job.start()
        for node in (host, other):
            wait_for("its workers run", lambda node=node: len(lines(node, r"held \d")) == 2)
        gone, left = (host, other) if hosting else (other, host)
        begin = time.monotonic()
        kill_node(gone)
        status = left.wait(END + SPARE)
        assert status == (83 if hosting else 81), f"exit status {status}:\n{left.output()}"
        assert time.monotonic() - begin < END + SPARE, "too slow"
        wait_for("no worker survives", lambda: not processes_with(f"TWO_NODES_MARK={job.mark}"))


def stopped():
    """Nobody continues a stopped agent: its guardian ends it and its workers, for the other node gave them up."""
    with Job("--nnodes=2", script=HOLD) as job:
        host = job.start()
        wait_for("the first node hosts", lambda: listens(job.port))
        other = job.start()
        for node in (host, other):
            wait_for("its workers run", lambda node=node: len(lines(node, r"held \d")) == 2)
        os.kill(agents_of(other)[0], signal.SIGSTOP)
        assert host.wait(END + SPARE) == 81, host.output()
        assert other.wait(END + SPARE) == 90, other.output()
        wait_for("no worker survives", lambda: not processes_with(f"TWO_NODES_MARK={job.mark}"))


def listens(port):
    wanted = f":{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        return any(fields[1].endswith(wanted) and fields[3] == "0A" for fields in map(str.split, list(file)[1:]))


def late():
    with Job("--nnodes=2", script=HOLD) as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            node.wait_for_output(r"held \d")
        third = job.start()
        expect(third.wait(), 84, third)
        third.wait_for_output("too late")
        assert all(node.popen.poll() is None for node in nodes), "the job was disturbed"


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
        job.start()
        wait_for("the first node hosts", lambda: listens(job.port))
        other_size = job.start("--nnodes=3")
        expect(other_size.wait(), 84, other_size)
        other_size.wait_for_output("--nnodes=3.*--nnodes=2")
        other_job = job.start(run_id="another")
        expect(other_job.wait(), 84, other_job)
        other_job.wait_for_output("another")


def same_rank():
    with Job("--nnodes=3", static=True, script=HOLD) as job:
        job.start(rank=0)
        wait_for("node rank 0 hosts", lambda: listens(job.port))
        job.start(rank=1)
        time_left = time.monotonic() + 20
        while True:  # whichever of the twins comes second
            twin = job.start(rank=1)
            if twin.wait() == 84:
                break
            assert time.monotonic() < time_left
        twin.wait_for_output("node rank 1")


def signaled():
    with Job("--nnodes=2", script=HOLD) as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            wait_for("its workers run", lambda node=node: len(lines(node, r"held \d")) == 2)
        nodes[1].signal(signal.SIGTERM)
        for node in nodes:
            assert node.wait() != 0, node.output()
        assert lines(nodes[0], r"host \S+: received SIGTERM"), nodes[0].output()
        wait_for("no worker survives", lambda: not processes_with(f"TWO_NODES_MARK={job.mark}"))


def daemon():
    """Two jobs on one musterd, which never see each other; then an id that was used is used again."""
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as host:
        port = int(host.wait_for_output(r"listening on \S+:(\d+)").group(1))
        for _ in range(2):
            jobs = [Job("--nnodes=2", script=f"echo job {name} $$RANK/$$WORLD_SIZE") for name in "ab"]
            with jobs[0], jobs[1]:
                for name, job in zip("ab", jobs):
                    job.port = port
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
    "lost_member": lambda: lost(hosting=False),
    "lost_host": lambda: lost(hosting=True),
    "stopped": stopped,
    "late": late,
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
