# SPDX-License-Identifier: Apache-2.0
"""A job whose workers (launcher/bench/stamp_worker.cpp) write down when they came up, were told to stop, or failed."""

import os
import shutil
import signal
import tempfile
import time
from typing import NamedTuple

from bench_parts.programs import MUSTER, Process, free_port, listens, program, wait_for

START_SECONDS = 30.0


class Stamp(NamedTuple):
    event: str  # up, told, failed
    at: float  # seconds, CLOCK_BOOTTIME
    node: str
    rank: str
    round: int
    pid: int


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def parent_of(pid):
    """A worker's parent is its agent."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise AssertionError(f"process {pid} is gone before it got its {signal.Signals(number).name}") from None


class StampedJob:
    """Nodes with one worker each, on loopback or on hosts in network namespaces; the first one hosts the rendezvous."""

    def __init__(self, *options, hosts=None):
        self.hosts = hosts
        self.port = free_port()
        self.endpoint = f"10.77.0.1:{self.port}" if hosts else f"127.0.0.1:{self.port}"
        self.options = list(options)
        self.folder = tempfile.mkdtemp(prefix="muster-bench-")
        self.path = os.path.join(self.folder, "stamps")
        with open(self.path, "wb"):
            pass
        self.stamps, self.read_to = [], 0
        self.nodes = {}

    def start(self, name):
        """One more node; on hosts, the one of that name."""
        command = [MUSTER, "run", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={self.endpoint}",
                   f"--rdzv-id=bench-{self.port}", f"--log-dir={self.folder}", *self.options,
                   "--no-python", program("stamp_worker"), self.path, name]
        self.nodes[name] = Process(self.hosts.command(name, *command) if self.hosts else command)

    def start_all(self, names):
        """Starts the nodes, the first one as the host; the first round's stamps once all are up."""
        self.start(names[0])
        if not self.hosts:  # where all can bind the endpoint, it is whoever comes first
            wait_for(f"{names[0]} listens", lambda: listens(self.port), START_SECONDS)
        for name in names[1:]:
            self.start(name)
        return self.next_up(0, set(names), START_SECONDS)

    def look(self):
        """All stamps so far. The last line may be half written: it stays for the next look."""
        with open(self.path, "rb") as file:
            file.seek(self.read_to)
            new = file.read()
        whole = new[:new.rfind(b"\n") + 1]
        self.read_to += len(whole)
        for line in whole.decode().splitlines():
            event, at, node, rank, number, pid = line.split()
            self.stamps.append(Stamp(event, int(at) / 1e9, node, rank, int(number), int(pid)))
        return self.stamps

    def next_up(self, after, names, seconds):
        """Stamps of the first round after round `after` in which exactly these nodes are up."""
        def look():
            rounds = {}
            for stamp in self.look():
                if stamp.event == "up" and stamp.round > after:
                    rounds.setdefault(stamp.round, {})[stamp.node] = stamp
            return next((list(up.values()) for _, up in sorted(rounds.items()) if set(up) == names), None)
        return self.wait(f"workers of a round after {after} on {', '.join(sorted(names))}", look, seconds)

    def told(self, number, names, seconds):
        """Stamps of the nodes whose workers of that round were told to stop, once all of them were."""
        def look():
            told = {stamp.node: stamp for stamp in self.look() if stamp.event == "told" and stamp.round == number}
            return list(told.values()) if names <= set(told) else None
        return self.wait(f"workers of round {number} told to stop on {', '.join(sorted(names))}", look, seconds)

    def wait(self, what, look, seconds):
        """As wait_for; a failure shows what the nodes said."""
        try:
            return wait_for(what, look, seconds)
        except AssertionError as error:
            said = "".join(f"\n--- {name} ({node.popen.poll()})\n{node.output()[-2000:]}" for name, node in self.nodes.items())
            raise AssertionError(f"{error}{said}") from None

    def close(self):
        """Ends everything. Hosts in namespaces lose power: what was cut off could not be told."""
        if self.hosts:
            for name in self.nodes:
                self.hosts.call("kill", name)
                self.hosts.call("boot", name)
        for node in self.nodes.values():
            if node.popen.poll() is None:
                node.signal(signal.SIGTERM)
        for node in self.nodes.values():
            node.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
