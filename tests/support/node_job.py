# SPDX-License-Identifier: Apache-2.0
"""Several `muster run` agents on loopback as the nodes of one job, and ways to lose them.

    with Job("--nnodes=1:2", script=HOLD) as job:
        first, second = job.start(), job.start()
        holds(first, world=4)
        kill_agent(second)
        holds(first, world=2)
"""

import contextlib
import os
import re
import signal
import socket
import tempfile

from muster_case import Process, binary, processes_with, wait_for

# A worker that says where it is, and stays.
HOLD = "trap 'exit 0' TERM; echo held $$RANK of $$WORLD_SIZE in $$MUSTER_ROUND; while :; do sleep 0.05; done"
# The same, until the file $$GO is there.
UNTIL_GO = HOLD.replace("while :", "while [ ! -e $$GO ]")
HELD = r"^held (\d+) of (\d+) in (\d+)$"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    wanted = f":{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        return any(fields[1].endswith(wanted) and fields[3] == "0A" for fields in map(str.split, list(file)[1:]))


class Job:
    """Nodes of one job; all are ended when the block is left."""

    def __init__(self, *options, static=False, script="true", conf="", places=1):
        self.ports = [free_port() for _ in range(places)]
        self.mark = f"nodes-{os.getpid()}-{self.port}"
        self.options = list(options) + ([f"--rdzv-conf={conf}"] if conf else [])
        self.static = static
        self.script = script
        self.nodes = []

    @property
    def port(self):
        """Of the first place; set, it is the only one."""
        return self.ports[0]

    @port.setter
    def port(self, port):
        self.ports = [port]

    def start(self, *options, rank=None, script=None, run_id=None, program="/bin/sh", console=None):
        command = [binary("muster"), "run", "--no-python", "--nproc-per-node=2", *self.options, *options]
        if self.static:
            command += [f"--node-rank={rank}", "--master-addr=127.0.0.1", f"--master-port={self.port}"]
        else:
            endpoint = ",".join(f"127.0.0.1:{port}" for port in self.ports)
            command += ["--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", f"--rdzv-id={run_id or self.mark}"]
        command += [program, "-c", script or self.script]
        node = Process(command, extra_env={"TWO_NODES_MARK": self.mark}, console=console)
        self.nodes.append(node)
        return node

    def start_host(self, *options, **others):
        """A node that surely hosts: it listens at the endpoint before another one is started."""
        node = self.start(*options, **others)
        wait_for("the first node hosts", lambda: listens(self.port))
        return node

    def nobody_is_left(self):
        wait_for("no process survives", lambda: not processes_with(f"TWO_NODES_MARK={self.mark}"))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for node in self.nodes:
            node.__exit__(kind, error, trace)


@contextlib.contextmanager
def go_file():
    """A path for workers that stay UNTIL_GO; go(path) makes it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GO"] = f"{folder}/go"
        try:
            yield os.environ["GO"]
        finally:
            del os.environ["GO"]


def go(path):
    with open(path, "w", encoding="ascii"):
        pass


def lines(node, pattern):
    return re.findall(pattern, node.output(), re.M)


def expect(status, wanted, node):
    assert status == wanted, f"exit status {status}, wanted {wanted}:\n{node.output()}"


def rounds(node):
    """The worlds in which both workers of the node ran: [(round, world size)], oldest first."""
    seen = {}
    for _, world, number in lines(node, HELD):
        seen.setdefault((int(number), int(world)), 0)
        seen[int(number), int(world)] += 1
    return [key for key, count in sorted(seen.items()) if count == 2]


def ranks(node, number):
    return sorted(int(rank) for rank, _, at in lines(node, HELD) if int(at) == number)


def holds(node, world, after=0, seconds=20.0):
    """Waits until the node's workers run in a world of that size, in a round later than `after`. The round."""
    def look():
        assert node.popen.poll() is None, f"ended with {node.popen.returncode}:\n{node.output()}"
        return next((number for number, size in reversed(rounds(node)) if size == world and number > after), None)
    try:
        return wait_for(f"a world of {world} after round {after}", look, seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{node.output()}") from None


def all_processes():
    """{process: (its parent, its name)}"""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        parents[int(pid)] = (int(rest.split()[1]), name)
    return parents


def agents_of(node):
    """Agent and guardian of a node, the agent first: the processes named muster below the one that was started."""
    family, grown, parents = {node.pid}, True, all_processes()
    while grown:
        more = {pid for pid, (parent, name) in parents.items() if parent in family and name.startswith("muster")}
        grown = not more <= family
        family |= more
    return sorted(family, reverse=True)


def children_of(pid):
    return [child for child, (parent, _) in all_processes().items() if parent == pid]


def kill_node(node):
    """As a loss of power: nobody has a last word, nor sees the other one die."""
    both = sorted(agents_of(node))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in both:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def kill_agent(node):
    """The guardian reaps the workers and says the agent's last word."""
    os.kill(agents_of(node)[0], signal.SIGKILL)
