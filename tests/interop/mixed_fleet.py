#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real torchrun agents and `muster run --rdzv-conf=peers=torchrun` agents form one world.

Usage: mixed_fleet.py CASE (see CASES at the end). Agents on loopback, each with an address of its own, whose order is torchrun's
order of ranks; the agent that is started first serves the store in which they meet. Or on hosts in network namespaces.
"""

import argparse
import contextlib
import os
import re
import signal
import socket
import sys
import urllib.request

from launchers import PROGRAMS, command_of, environment, free_port, scratch
from muster_case import Hosts, Process, binary, processes_with, torch_program, wait_for

PATIENCE = 120  # importing torch takes seconds, many at once on a busy machine


class Node:
    def __init__(self, fleet, kind, number, process):
        self.fleet, self.kind, self.number, self.process = fleet, kind, number, process

    def worlds(self):
        """(world size, ranks, address of the workers' store, attempt) of each of its worlds, in order."""
        found = {}
        for rank, size, master, attempt in re.findall(rf"node {self.number}: rank (\d+) of (\d+) at (\S+) attempt (\d+)", self.output()):
            found.setdefault((int(size), master, int(attempt)), []).append(int(rank))
        return [(size, sorted(ranks), master, attempt) for (size, master, attempt), ranks in found.items()]

    def starts(self):
        return len(re.findall(rf"node {self.number}: rank", self.output()))

    def output(self):
        return self.process.output()

    def kill(self):
        """The agent and all that belongs to it, as a node that loses its power."""
        for pid in processes_with(f"FLEET_NODE={self.number}\0") + [self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.fleet.nodes.remove(self)


class Fleet:
    """with Fleet("2:3") as fleet: fleet.start("torchrun", 1); fleet.start("muster", 2)

    With `daemon` a musterd of its own serves the store, and all agents are its guests.
    """

    def __init__(self, nnodes, *options, workers=2, daemon=False):
        self.nnodes, self.options, self.workers, self.daemon = nnodes, options, workers, daemon
        self.port = free_port()
        self.nodes = []
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        torch_program("torchrun")
        self.folder = self.stack.enter_context(scratch())
        if self.daemon:
            self.stack.enter_context(Process([binary("musterd"), "--host", "127.0.0.1", "--port", str(self.port)]))
            wait_for("the store is served", self.is_served, PATIENCE)
        return self

    def __exit__(self, kind, error, trace):
        self.stack.__exit__(kind, error, trace)

    def start(self, kind, number, peers="peers=torchrun,"):
        conf = "last_call_timeout=2"
        launcher = "torchrun" if kind == "torchrun" else "muster run"
        command = [*command_of(launcher), f"--nnodes={self.nnodes}", f"--nproc-per-node={self.workers}", "--max-restarts=2",
                   "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}", "--rdzv-id=fleet",
                   f"--rdzv-conf={peers if kind == 'muster' else ''}{conf}", f"--local-addr=127.0.0.{number}", *self.options,
                   os.path.join(PROGRAMS, "fleet_sums.py"), self.folder]
        process = self.stack.enter_context(Process(command, env={**environment("lo"), "FLEET_NODE": str(number)}))
        self.nodes.append(Node(self, kind, number, process))
        if len(self.nodes) == 1:
            wait_for("the store is served", self.is_served, PATIENCE)
        return self.nodes[-1]

    def is_served(self):
        with contextlib.closing(socket.socket()) as caller:
            return caller.connect_ex(("127.0.0.1", self.port)) == 0

    def has_keys(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=PATIENCE) as page:
            return re.search(r"^muster_store_keys [1-9]", page.read().decode(), re.MULTILINE)

    def meets(self, starts=1):
        """Every node's workers have met, in one world of all nodes; its (store's address, attempt)."""
        size = self.workers * len(self.nodes)

        def met():
            for node in self.nodes:
                worlds = node.worlds()
                if node.process.popen.poll() is not None:
                    raise AssertionError(f"node {node.number} ended with {node.process.popen.returncode}")
                if not worlds or worlds[-1][0] != size or len(worlds[-1][1]) < self.workers:
                    return False
            return all(node.starts() >= starts * self.workers for node in self.nodes[:1])
        try:
            wait_for(f"a world of {size}", met, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.outputs()}") from None
        last = [node.worlds()[-1] for node in self.nodes]
        assert len({master for _, _, master, _ in last}) == 1, last
        return last

    def order(self, text):
        with open(os.path.join(self.folder, text), "w", encoding="utf-8"):
            pass

    def finish(self):
        self.order("finish")
        for node in self.nodes:
            assert node.process.wait(PATIENCE) == 0, f"node {node.number}: {node.process.popen.returncode}\n{self.outputs()}"

    def outputs(self):
        return "\n".join(f"--- node {node.number}, {node.kind}\n{node.output()}" for node in self.nodes)


def meet(*kinds, **options):
    """Kinds in the order of starting; each with its number, which is its place in the order of ranks."""
    with Fleet(str(len(kinds)), **options) as fleet:
        for kind, number in kinds:
            fleet.start(kind, number)
        worlds = fleet.meets()
        by_number = sorted(zip([node.number for node in fleet.nodes], worlds))
        ranks = [rank for _, (_, ranks, _, _) in by_number for rank in ranks]
        assert ranks == list(range(fleet.workers * len(kinds))), by_number
        fleet.finish()


def worker_fails(failing, host, other, **options):
    """A new round, with restarts on both kinds, charged to the agent whose worker failed."""
    with Fleet("2", **options) as fleet:
        first, second = fleet.start(host, 1), fleet.start(other, 2)
        fleet.meets()
        node = first if first.kind == failing else second
        for count in (1, 2):
            fleet.order(f"fail-{node.number}")
            wait_for("a worker has failed", lambda: not os.path.exists(os.path.join(fleet.folder, f"fail-{node.number}")), PATIENCE)
            wait_for("a new world", lambda: all(n.starts() >= 2 * (count + 1) for n in fleet.nodes), PATIENCE)  # pylint: disable=cell-var-from-loop
            fleet.meets()
        fleet.finish()


def newcomer(kind, number, *kinds):
    """A running world takes one more in; nobody is told another address of the workers' store."""
    with Fleet("2:3") as fleet:
        for each, place in kinds:
            fleet.start(each, place)
        fleet.meets()
        fleet.start(kind, number)
        fleet.meets()
        fleet.finish()


def killed(kind, *kinds):
    """The last node of that kind vanishes; the others go on without it."""
    with Fleet("2:3", "--monitor-interval=0.1") as fleet:
        for each, number in kinds:
            fleet.start(each, number)
        fleet.meets()
        [node for node in fleet.nodes if node.kind == kind][-1].kill()
        fleet.meets()
        fleet.finish()


def hosts(first, second):
    """On two machines, where muster finds out by itself at what address it is reached; the first one serves the store."""
    torch_program("torchrun")
    with Hosts(2) as lab, scratch() as folder, contextlib.ExitStack() as stack:
        fleet = argparse.Namespace(nodes=[])
        for number, kind in ((1, first), (2, second)):
            own = ["--local-addr", f"10.77.0.{number}"] if kind == "torchrun" else ["--rdzv-conf=peers=torchrun"]
            launcher = "torchrun" if kind == "torchrun" else "muster run"
            command = lab.command(f"h{number}", *command_of(launcher), "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-id=fleet",
                                  "--rdzv-endpoint=10.77.0.1:29400", *own, os.path.join(PROGRAMS, "fleet_sums.py"), folder)
            process = stack.enter_context(Process(command, env={**environment("eth0"), "FLEET_NODE": str(number)}))
            fleet.nodes.append(Node(fleet, kind, number, process))
        for node in fleet.nodes:
            node.process.wait_for_output(rf"node {node.number}: rank {node.number - 1} of 2 at 10\.77\.0\.1:", PATIENCE)
            if node.kind == "muster":
                node.process.wait_for_output(r"network: 10\.77\.0\.0/24 by eth0, master 10\.77\.0\.1:", PATIENCE)
        with open(os.path.join(folder, "finish"), "w", encoding="utf-8"):
            pass
        for node in fleet.nodes:
            assert node.process.wait(PATIENCE) == 0, node.output()


def contradiction(host, guest):
    """Two ways to decide, at one endpoint: the muster agents end with 84 and both hosts named; torchrun's at a muster's end, too."""
    with Fleet("2") as fleet:
        nodes = [fleet.start(host, 1, peers=""), fleet.start(guest, 2, peers="")]
        for node in nodes:
            if node.kind == "muster":
                assert node.process.wait(PATIENCE) == 84, fleet.outputs()
                refusals = re.findall(r"host \S+ \(muster\) and 127\.0\.0\.\d \(torchrun\) would each decide", node.output())
                assert len(refusals) == 1, fleet.outputs()
            elif host == "muster":
                assert node.process.wait(PATIENCE) == 1, fleet.outputs()


def contradiction_at_musterd():
    """torchrun's agent waits at a musterd for a second one; a muster that would let the musterd decide finds it there."""
    with Fleet("2", daemon=True) as fleet:
        other = fleet.start("torchrun", 1)
        wait_for("it has joined", fleet.has_keys, PATIENCE)
        node = fleet.start("muster", 2, peers="")
        assert node.process.wait(PATIENCE) == 84, fleet.outputs()
        assert re.search(r"host \S+ \(muster\) and 127\.0\.0\.1 \(torchrun\) would each decide", node.output()), fleet.outputs()
        assert other.process.popen.poll() is None, fleet.outputs()
        other.kill()


CASES = {
    "guest": lambda: meet(("torchrun", 1), ("muster", 2)),
    "guest_first": lambda: meet(("torchrun", 2), ("muster", 1)),
    "host": lambda: meet(("muster", 1), ("torchrun", 2)),
    "host_last": lambda: meet(("muster", 2), ("torchrun", 1)),
    "three": lambda: meet(("torchrun", 1), ("muster", 2), ("torchrun", 3)),
    "worker_fails_at_guest": lambda: worker_fails("muster", "torchrun", "muster"),
    "worker_fails_at_host": lambda: worker_fails("torchrun", "torchrun", "muster"),
    "worker_fails_beside_host": lambda: worker_fails("torchrun", "muster", "torchrun"),
    "newcomer": lambda: newcomer("torchrun", 3, ("torchrun", 1), ("muster", 2)),
    "newcomer_first": lambda: newcomer("torchrun", 1, ("torchrun", 2), ("muster", 3)),
    "newcomer_muster": lambda: newcomer("muster", 3, ("torchrun", 1), ("torchrun", 2)),
    "killed_muster": lambda: killed("muster", ("torchrun", 1), ("muster", 2), ("muster", 3)),
    "killed_torchrun": lambda: killed("torchrun", ("muster", 1), ("torchrun", 2), ("torchrun", 3)),
    "at_musterd": lambda: meet(("torchrun", 1), ("muster", 2), ("torchrun", 3), daemon=True),
    "worker_fails_at_musterd": lambda: worker_fails("torchrun", "muster", "torchrun", daemon=True),
    "hosts": lambda: hosts("torchrun", "muster"),
    "hosts_of_muster": lambda: hosts("muster", "torchrun"),
    "contradiction_at_torchrun": lambda: contradiction("torchrun", "muster"),
    "contradiction_at_muster": lambda: contradiction("muster", "torchrun"),
    "contradiction_at_musterd": contradiction_at_musterd,
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
