#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DDP with a checkpoint on two to three hosts: a worker is killed, a node joins, the host of the rendezvous, which is also
rank 0's, loses its power, a node leaves.

Each time the world forms anew without anybody's help, and training goes on from the checkpoint. Needs root for the hosts.
"""

import contextlib
import os
import re
import signal

from launchers import PROGRAMS, environment, scratch
from muster_case import Hosts, Process, binary, torch_program, wait_for

BEGINS = r"^begins at (\d+) as (\d+) of (\d+) in round (\d+), restart (\d+), process (\d+)$"
SAVED = r"^saved (\d+) in a world of (\d+) in round (\d+), loss ([\d.]+)$"
SAVE_EVERY = 5  # steps, in ddp_elastic.py
START_S = 60.0  # PyTorch is imported for seconds, on a busy machine for longer


class Training:
    """The nodes of one job, by host, and what its worlds said."""

    def __init__(self, hosts, stack, folder):
        self.hosts, self.stack, self.nodes = hosts, stack, {}
        self.lost = []  # outputs of nodes that are gone
        self.until = f"{folder}/until"
        self.program = [os.path.join(PROGRAMS, "ddp_elastic.py"), f"--checkpoint={folder}/state.pt", f"--until={self.until}"]

    def start(self, host):
        command = [binary("muster"), "run", "--nnodes=1:3", "--nproc-per-node=1", "--max-restarts=1", "--rdzv-backend=c10d",
                   "--rdzv-endpoint=10.77.0.1:29400", "--rdzv-id=elastic", "--rdzv-conf=dead=3,last_call_timeout=1,scale_interval=0"]
        self.nodes[host] = self.stack.enter_context(
            Process(self.hosts.command(host, *command, *self.program), env=environment("eth0")))

    def forget(self, host):
        self.lost.append(self.nodes.pop(host).output())

    def output(self):
        return "\n".join(self.lost + [f"--- {host}\n{node.output()}" for host, node in self.nodes.items()])

    def found(self, pattern):
        return re.findall(pattern, self.output(), re.M)

    def saved(self, before=1000):
        return sorted({int(step) for step, _, number, _ in self.found(SAVED) if int(number) < before})

    def goes_on(self, world, restart, after, since):
        """Waits until a world of that size, in a later round than `after`, has begun on all ranks and saved twice. It must have begun
        at a checkpoint, none older than `since`. The round."""
        def look():
            for host, node in self.nodes.items():
                assert node.popen.poll() is None, f"{host} ended with {node.popen.returncode}:\n{self.output()}"
            begun = [list(map(int, found)) for found in self.found(BEGINS)]
            number = max((found[3] for found in begun), default=0)
            newest = [found for found in begun if found[3] == number]
            done = [int(step) for step, size, at, _ in self.found(SAVED) if (int(size), int(at)) == (world, number)]
            return number > after and len(done) > 1 and [found[2] for found in newest] == [world] * world and newest
        try:
            newest = wait_for(f"a world of {world} after round {after} trains", look, START_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output()}") from None
        assert sorted(found[1] for found in newest) == list(range(world)), newest
        assert {found[4] for found in newest} == {restart}, f"restarts were counted: {newest}\n{self.output()}"
        starts, saved = {found[0] for found in newest}, self.saved(before=newest[0][3])
        last = max(saved, default=0)
        # A rank 0 that was ended between the renaming and the word about it has saved one more.
        assert len(starts) == 1 and starts <= {last, last + SAVE_EVERY} and min(starts) >= since, f"{starts}, saved were {saved}"
        print(f"round {newest[0][3]}: {world} ranks go on at step {min(starts)}, checkpoint before was {since}", flush=True)
        return newest[0][3]

    def process_of(self, host):
        return int(re.findall(BEGINS, self.nodes[host].output(), re.M)[-1][5])


def main():
    torch_program()
    with Hosts(3) as hosts, scratch() as folder, contextlib.ExitStack() as stack:
        training = Training(hosts, stack, folder)
        training.start("h1")
        training.start("h2")
        number = training.goes_on(2, restart=0, after=0, since=0)

        since = training.saved()[-1]
        os.kill(training.process_of("h2"), signal.SIGKILL)
        number = training.goes_on(2, restart=1, after=number, since=since)

        since = training.saved()[-1]
        training.start("h3")
        number = training.goes_on(3, restart=1, after=number, since=since)

        since = training.saved()[-1]
        assert hosts.call("kill", "h1").returncode == 0
        training.forget("h1")
        number = training.goes_on(2, restart=1, after=number, since=since)

        since = training.saved()[-1]
        training.nodes["h3"].signal(signal.SIGTERM)
        assert training.nodes["h3"].wait() == 128 + signal.SIGTERM, training.output()
        training.forget("h3")
        training.goes_on(1, restart=1, after=number, since=since)

        with open(training.until, "w", encoding="ascii"):
            pass
        assert training.nodes["h2"].wait() == 0, training.output()
        assert training.found(r"^finished at \d+ in a world of 1$"), training.output()


main()
