#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may use the store of a round: the hosts of its nodes, nobody else, across hosts in network namespaces.

Usage: store_members_test.py CASE (see CASES at the end). Needs root and iproute2; skips where namespaces are refused.
"""

import re
import shutil
import sys

from bad_clients import STORE
from held_job import HeldJob
from muster_case import Hosts, Process, binary, run, skip, wait_for

# Calls a store several times in TCPStore's bytes, and says how often it was answered.
CLIENT = f"""
import socket, sys
answered = 0
for _ in range(int(sys.argv[3])):
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as client:
            client.sendall({STORE!r} + b"\\x0dhere")
            answered += client.recv(4, socket.MSG_WAITALL) == b"here"
    except ConnectionError:
        pass
print("answered", answered)
"""
STRANGER = "it is no member's address, and the workers' store is for members"


def answered(hosts, host, master, times=1):
    status, output = run(hosts.command(host, sys.executable, "-c", CLIENT, *master, times), 60)
    assert status == 0, output
    return int(re.search(r"answered (\d+)", output).group(1))


def on(hosts, host, *command):
    status, output = run(hosts.command(host, *command), 20)
    assert status == 0, output


def members_alone(endpoint, **more):
    """A host of the job is answered, whichever process calls; one that is none is closed, and said once; in the end they are summed up."""
    with Hosts(4) as hosts, HeldJob(hosts, endpoint, "--log-level=info", **more) as job:
        assert [answered(hosts, host, job.master, 20) for host in ("h1", "h2", "h3", "h4")] == [20, 20, 0, 0]
        first = job.nodes[0]
        for stranger in (3, 4):
            said = [line for line in first.output().splitlines() if STRANGER in line and re.search(rf"(77\.0\.|fd77::){stranger}\b", line)]
            assert len(said) == 1, first.output()
        assert STRANGER not in job.nodes[1].output(), job.nodes[1].output()
    assert len(re.findall("connections that it has closed: stranger 40$", job.outputs[0], re.M)) == 1, job.outputs[0]


def opened():
    """--open-store lets everybody in, whichever way the nodes meet."""
    for endpoint, static in (("10.77.0.1:29400", False), ("10.77.0.1:29500", True)):
        with Hosts(3) as hosts, HeldJob(hosts, endpoint, "--open-store", static=static) as job:
            assert answered(hosts, "h3", job.master, 3) == 3
            assert STRANGER not in job.nodes[0].output()


def call_from(hosts, address):
    """From now on h2 calls h1 by an address that it does not offer to others."""
    on(hosts, "h2", "ip", "addr", "add", f"{address}/32", "dev", "lo")
    on(hosts, "h2", "ip", "route", "add", "10.77.0.1/32", "dev", "eth0", "src", address)
    on(hosts, "h1", "ip", "route", "add", f"{address}/32", "dev", "eth0", "via", "10.77.0.2")


def other_address():
    """A node that the rendezvous sees at another address than it offers uses the store from there, also one that moves meanwhile."""
    if not shutil.which("nft"):
        skip("nftables is not installed (scripts/setup --with-peers)")
    with Hosts(3) as hosts:
        call_from(hosts, "10.77.9.2")
        with HeldJob(hosts, "10.77.0.1:29400") as job:
            assert answered(hosts, "h2", job.master) == 1
            assert answered(hosts, "h3", job.master) == 0
    with Hosts(3) as hosts, HeldJob(hosts, "10.77.0.1:29400") as job:
        call_from(hosts, "10.77.9.2")
        assert answered(hosts, "h2", job.master) == 0  # the host has not seen the node there
        rules = "table inet old {\nchain out {\ntype filter hook output priority 0;\n" \
                "ip saddr 10.77.0.2 tcp dport 29400 reject with tcp reset\n}\n}"
        on(hosts, "h2", "sh", "-c", f"echo '{rules}' | nft -f -")  # its connection to the host ends, and it calls again
        wait_for("it is let in", lambda: answered(hosts, "h2", job.master) == 1)
        assert answered(hosts, "h3", job.master) == 0


def unknown_address():
    """A node that the store alone sees at its address is named before a worker starts; --open-store lets it take part."""
    with Hosts(3) as hosts, Process(hosts.command("h3", binary("musterd"), "--host", "10.77.0.3")) as daemon:
        daemon.wait_for_output("listening on")
        call_from(hosts, "10.77.9.2")
        command = [binary("muster"), "run", "--no-python", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=10.77.0.3:29400", "--rdzv-id=far",
                   "sh", "-c", "echo started"]
        with Process(hosts.command("h1", *command)) as one, Process(hosts.command("h2", *command)) as two:
            for node in (one, two):
                assert node.wait() == 84, node.output()
                node.wait_for_output(r"host h2 \(10\.77\.0\.2\) cannot reach host h1 at 10\.77\.0\.1:\d+: its store closed .*--open-store")
                assert not re.search("^started", node.output(), re.M), node.output()
        with HeldJob(hosts, "10.77.0.3:29400", "--open-store") as job:
            assert answered(hosts, "h2", job.master) == 1


CASES = {
    "c10d": lambda: members_alone("10.77.0.1:29400"),
    "static": lambda: members_alone("10.77.0.1:29500", static=True),
    "ipv6": lambda: members_alone("[fd77::1]:29400"),
    "open": opened,
    "other_address": other_address,
    "unknown_address": unknown_address,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
