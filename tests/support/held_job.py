# SPDX-License-Identifier: Apache-2.0
"""A job of nodes on hosts in network namespaces, whose workers run until they are told to end."""

import contextlib
import os

from muster_case import Process, binary

HOLD = "echo held $$RANK $$MASTER_ADDR $$MASTER_PORT; until [ -e {0} ]; do sleep 0.05; done; echo over $$RANK"


class HeldJob:
    """
    with HeldJob(hosts, "10.77.0.1:29400", count=2) as job:
        job.master         # (address, port) of the round's store, once every worker runs
    job.outputs            # every node has ended with 0
    """

    def __init__(self, hosts, endpoint, *options, count=2, static=False):
        self.end = f"/tmp/held_job_{os.getpid()}"
        self.stack = contextlib.ExitStack()
        self.nodes, self.master, self.outputs = [], None, []
        address, port = endpoint.rsplit(":", 1)
        for i in range(count):
            where = [f"--node-rank={i}", f"--master-addr={address}", f"--master-port={port}"] if static else \
                ["--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", "--rdzv-id=held"]
            command = hosts.command(f"h{i + 1}", binary("muster"), "run", "--no-python", f"--nnodes={count}", *where, *options,
                                    "/bin/sh", "-c", HOLD.format(self.end))
            self.nodes.append(self.stack.enter_context(Process(command)))

    def __enter__(self):
        try:
            for node in self.nodes:
                held = node.wait_for_output(r"^held \d+ (\S+) (\d+)")
                self.master = held.group(1), int(held.group(2))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            with open(self.end, "w", encoding="ascii"):
                pass
            if kind is None:
                for node in self.nodes:
                    assert node.wait() == 0, node.output()
                self.outputs = [node.output() for node in self.nodes]
        finally:
            self.close()

    def close(self):
        self.stack.close()
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.end)
