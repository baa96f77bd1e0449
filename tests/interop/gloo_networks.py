#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gloo between two hosts whose own names are loopback addresses there (Debian's /etc/hosts), over IPv4 and over IPv6 alone.

Left to itself gloo listens where its host's name points, and no peer reaches it; muster names the interface that the nodes share.
"""

import contextlib
import os
import re
import sys

from muster_case import Hosts, Process, binary, run, torch_program

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "gloo_sum.py")


def on(hosts, host, *command):
    status, output = run(hosts.command(host, *command), 20)
    assert status == 0, output


def sums(hosts, endpoint):
    command = [binary("muster"), "run", "--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", PROGRAM]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_SOCKET_IFNAME")}
    environment["PYTHON_EXEC"] = torch_program()
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(Process(hosts.command(f"h{i}", *command), env=environment)) for i in (1, 2)]
        for node in nodes:
            assert node.wait(120) == 0, node.output()
            assert len(re.findall("^sum 10 of 4 ranks$", node.output(), re.M)) == 2, node.output()


def main():
    torch_program()
    with Hosts(2) as hosts:
        for host in ("h1", "h2"):
            on(hosts, host, "sh", "-c", f"printf '127.0.0.1 localhost\\n127.0.1.1 {host}\\n' > /dev/shm/hosts && mount --bind /dev/shm/hosts /etc/hosts")
        sums(hosts, "10.77.0.1:29400")
        for i in (1, 2):
            on(hosts, f"h{i}", "ip", "addr", "del", f"10.77.0.{i}/24", "dev", "eth0")
        sums(hosts, "[fd77::1]:29400")


main()
sys.exit(0)
