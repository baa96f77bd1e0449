#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs across hosts in network namespaces: addresses that peers reach, hosts that vanish without a word.

Usage: network_hosts_test.py CASE (see CASES at the end). Needs root and iproute2; skips where namespaces are refused.
"""

import re
import sys
import time

from muster_case import Hosts, Process, binary, wait_for

END = 7.0  # a lost node ends the job everywhere within so many seconds
SPARE = 3.0  # for a machine that is busy with other tests
HOLD = "trap 'exit 0' TERM; echo held $$RANK; while :; do sleep 0.05; done"


def start(hosts, host, endpoint, script, *options):
    return Process(hosts.command(host, binary("muster"), "run", "--no-python", "--nproc-per-node=2", "--rdzv-backend=c10d",
                                 f"--rdzv-endpoint={endpoint}", "--rdzv-id=net", *options, "/bin/sh", "-c", script))


def held(node):
    wait_for("its workers run", lambda: len(re.findall(r"^held \d", node.output(), re.M)) == 2)


def masters(endpoint):
    """Workers of three hosts get one master address, one that is no loopback, on rank 0's host."""
    with Hosts(3) as hosts:
        script = "echo at $$RANK $$MASTER_ADDR; hostname"
        with start(hosts, "h1", endpoint, script, "--nnodes=3") as a, start(hosts, "h2", endpoint, script, "--nnodes=3") as b, \
                start(hosts, "h3", endpoint, script, "--nnodes=3") as c:
            for node in (a, b, c):
                assert node.wait() == 0, node.output()
            seen = [re.findall(r"^at (\d) (\S+)", node.output(), re.M) for node in (a, b, c)]
            assert sorted(rank for node in seen for rank, _ in node) == list("012345"), seen
            assert [sorted(rank for rank, _ in node) for node in seen] == [["0", "1"], ["2", "3"], ["4", "5"]], seen
            addresses = {address for node in seen for _, address in node}
            assert len(addresses) == 1 and addresses <= {"10.77.0.1", "fd77::1"}, addresses


def lost(what, host):
    """cut: frames dropped, nobody is told. kill: power loss."""
    with Hosts(3) as hosts:
        nodes = {name: start(hosts, name, "10.77.0.1:29400", HOLD, "--nnodes=3") for name in ("h1", "h2", "h3")}
        try:
            for node in nodes.values():
                held(node)
            begin = time.monotonic()
            done = hosts.call(what, host)
            assert done.returncode == 0, done.stdout
            for name, node in nodes.items():
                if name == host and what == "kill":
                    continue
                status = node.wait(END + SPARE)
                assert status == (83 if host == "h1" and name != host or name == host and host != "h1" else 81), \
                    f"{name}: {status}\n{node.output()}"
            assert time.monotonic() - begin < END + SPARE
        finally:
            for node in nodes.values():
                node.close()


def frozen():
    """A host that stands still for two seconds, whoever it is, is not evicted; its job goes on."""
    with Hosts(2) as hosts:
        nodes = [start(hosts, name, "10.77.0.1:29400", HOLD, "--nnodes=2") for name in ("h1", "h2")]
        try:
            for node in nodes:
                held(node)
            for name in ("h1", "h2"):
                assert hosts.call("freeze", name).returncode == 0
                time.sleep(2)  # the length of the pause is what is tested
                assert hosts.call("thaw", name).returncode == 0
                wait_for("time passes", lambda end=time.monotonic() + 4: time.monotonic() > end)
                for node in nodes:
                    assert node.popen.poll() is None, node.output()
        finally:
            for node in nodes:
                node.close()


CASES = {
    "address": lambda: masters("10.77.0.1:29400"),
    "name": lambda: masters("h1:29400"),
    "ipv6": lambda: masters("[fd77::1]:29400"),
    "cut_member": lambda: lost("cut", "h2"),
    "kill_member": lambda: lost("kill", "h3"),
    "kill_host": lambda: lost("kill", "h1"),
    "frozen": frozen,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
