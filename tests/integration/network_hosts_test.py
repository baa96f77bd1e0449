#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs across hosts in network namespaces: addresses that peers reach, hosts that vanish without a word.

Usage: network_hosts_test.py CASE (see CASES at the end). Needs root and iproute2; skips where namespaces are refused.
"""

import contextlib
import itertools
import re
import shutil
import signal
import sys
import tempfile
import time

from muster_case import Hosts, Process, binary, let_pass, processes_with, skip
from node_job import go, holds, lines, ranks, rounds

NEXT = 7.0  # a lost node is followed by another round within so many seconds, also where it hosted
SPARE = 3.0  # for a machine that is busy with other tests
# A worker as HOLD, that first opens the master's port, and also says when it is alive, by a clock that all hosts share (CLOCK_BOOTTIME).
TICK = "trap 'exit 0' TERM; read -r up _ </proc/uptime;" \
       " bash -c 'exec 3<>/dev/tcp/$$MASTER_ADDR/$$MASTER_PORT' && echo held $$RANK of $$WORLD_SIZE in $$MUSTER_ROUND;" \
       " while :; do echo alive in $$MUSTER_ROUND at $$up; sleep 0.05; read -r up _ </proc/uptime; done"


def start(hosts, host, endpoint, script, *options, env=None):
    return Process(hosts.command(host, binary("muster"), "run", "--no-python", "--nproc-per-node=2", "--rdzv-backend=c10d",
                                 f"--rdzv-endpoint={endpoint}", "--rdzv-id=net", *options, "/bin/sh", "-c", script), extra_env=env)


@contextlib.contextmanager
def world(count, *options):
    """Hosts h1..hN with a node each; that of h1 hosts the rendezvous."""
    with Hosts(count) as hosts, contextlib.ExitStack() as stack:
        nodes = {}
        for i in range(1, count + 1):
            nodes[f"h{i}"] = stack.enter_context(start(hosts, f"h{i}", "10.77.0.1:29400", TICK, *options))
        for node in nodes.values():
            holds(node, 2 * count)
        yield hosts, nodes


def do(hosts, *what):
    done = hosts.call(*what)
    assert done.returncode == 0, done.stdout


def workers_on(hosts, host):
    """Live workers on that host: the shells that say where they are."""
    there = set(hosts.call("ps", host).stdout.split())
    return [pid for pid in processes_with("MUSTER_ROUND=") if str(pid) in there]


def alive(node, number):
    """Moments at which a worker of the node was alive in that round, and at least one."""
    moments = [float(at) for at in lines(node, rf"^alive in {number} at ([\d.]+)$")]
    assert moments, node.output()
    return moments


def never_together(gone, stayed, number):
    """Nobody who was put out of the job was alive when the first worker of that round began."""
    began = min(min(alive(node, number)) for node in stayed)
    for node in gone:
        last = max(alive(node, 1))
        assert last <= began, f"alive until {last}, round {number} began at {began}:\n{node.output()[-2000:]}"


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
    """cut: frames dropped, nobody is told. kill: power loss. The others go on; a host that was only cut off has stopped its workers
    before that, and takes part again once it is back."""
    with world(3, "--nnodes=2:3", "--rdzv-conf=last_call_timeout=1,scale_interval=0") as (hosts, nodes):
        others = [node for name, node in nodes.items() if name != host]
        begin = time.monotonic()
        do(hosts, what, host)
        number = max(holds(node, 4, after=1) for node in others)
        assert time.monotonic() - begin < NEXT + SPARE
        if what == "kill":
            return
        assert not workers_on(hosts, host)
        never_together([nodes[host]], others, number)
        do(hosts, "heal", host)
        for node in nodes.values():
            holds(node, 6, after=number)


def parted(minority):
    """Five nodes in two halves that see themselves but not each other. The larger one goes on, whoever hosted; the smaller one's
    workers are dead by then, it starts nothing, and joins when the network is whole again."""
    if not shutil.which("nft"):
        skip("nftables is not installed (scripts/setup --with-peers)")
    with world(5, "--nnodes=2:5", "--rdzv-conf=last_call_timeout=1,scale_interval=0") as (hosts, nodes):
        majority = [name for name in nodes if name not in minority]
        pairs = [pair for a, b in itertools.product(minority, majority) for pair in ((a, b), (b, a))]
        begin = time.monotonic()
        for a, b in pairs:
            do(hosts, "cut", a, b)
        number = max(holds(nodes[name], 6, after=1) for name in majority)
        assert time.monotonic() - begin < NEXT + SPARE
        for name in minority:
            assert not workers_on(hosts, name), nodes[name].output()
            assert rounds(nodes[name]) == [(1, 10)], nodes[name].output()
        never_together([nodes[name] for name in minority], [nodes[name] for name in majority], number)
        for a, b in pairs:
            do(hosts, "heal", a, b)
        for node in nodes.values():
            holds(node, 10, after=number)


def frozen():
    """A host that stands still for two seconds, whoever it is, is not evicted; its job goes on."""
    with world(2, "--nnodes=1:2") as (hosts, nodes):
        for name in nodes:
            do(hosts, "freeze", name)
            let_pass(2)
            do(hosts, "thaw", name)
            let_pass(6)
            for node in nodes.values():
                assert node.popen.poll() is None and len(rounds(node)) == 1, node.output()


def first_place_down():
    """Of a list of places the first one has no power: the others meet without it, and when it is back it finds them."""
    places = ",".join(f"10.77.0.{i}:29400" for i in (1, 2, 3))
    options = ("--nnodes=2:3", "--rdzv-conf=last_call_timeout=1,scale_interval=0")
    with Hosts(3) as hosts, contextlib.ExitStack() as stack:
        do(hosts, "kill", "h1")
        nodes = [stack.enter_context(start(hosts, host, places, TICK, *options)) for host in ("h2", "h3")]
        number = max(holds(node, 4) for node in nodes)
        do(hosts, "boot", "h1")
        nodes.append(stack.enter_context(start(hosts, "h1", places, TICK, *options)))
        assert len({holds(node, 6, after=number) for node in nodes}) == 1


def left_alone():
    """Of two hosts one is left, by either of them: its workers reach their store at the address that they are told."""
    for goer in ("h1", "h2"):
        with world(2, "--nnodes=1:2") as (_, nodes):
            nodes[goer].signal(signal.SIGTERM)
            holds(next(node for name, node in nodes.items() if name != goer), 2, after=1)


def pod_returns():
    """A pod that is started anew, elsewhere and at another address, while its old self is silent takes that one's place: one round, the
    same ranks, and the other nodes' agents stay."""
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "train-2"}
    options = ("--nnodes=2:3", "--rdzv-conf=last_call_timeout=1,scale_interval=0")
    with Hosts(4) as hosts, contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(start(hosts, f"h{i}", "10.77.0.1:29400", TICK, *options)) for i in (1, 2)]
        old = stack.enter_context(start(hosts, "h3", "10.77.0.1:29400", TICK, *options, env=pod))
        for node in (*nodes, old):
            holds(node, 6)
        do(hosts, "cut", "h3")
        new = stack.enter_context(start(hosts, "h4", "10.77.0.1:29400", TICK, *options, env=pod))
        number = holds(new, 6)
        assert ranks(new, number) == ranks(old, 1)
        for node in nodes:
            assert holds(node, 6, after=1) == number and rounds(node) == [(1, 6), (number, 6)], node.output()
        never_together([old], [*nodes, new], number)


def missed_end():
    """A node that is cut off while its job ends, for longer than the host waits for it, is told the end when it calls again: the daemon
    remembers it."""
    with Hosts(3) as hosts, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Process(hosts.command("h1", binary("musterd"), "--host", "10.77.0.1", "--port", "29400",
                                                             "--log-level", "info")))
        daemon.wait_for_output("listening")
        nodes = {}
        for name in ("h2", "h3"):
            script = f"trap 'exit 0' TERM; while [ ! -e {folder}/{name} ]; do sleep 0.05; done"
            nodes[name] = stack.enter_context(start(hosts, name, "10.77.0.1:29400", script, "--nnodes=2"))
        daemon.wait_for_output("round 1 runs 4 workers on 2 nodes")
        go(f"{folder}/h3")
        daemon.wait_for_output("1 node is done")
        do(hosts, "cut", "h3")
        go(f"{folder}/h2")
        assert nodes["h2"].wait() == 0, nodes["h2"].output()
        daemon.wait_for_output("the job succeeded")
        assert nodes["h3"].popen.poll() is None, nodes["h3"].output()
        do(hosts, "heal", "h3")
        assert nodes["h3"].wait() == 0, nodes["h3"].output()


CASES = {
    "address": lambda: masters("10.77.0.1:29400"),
    "name": lambda: masters("h1:29400"),
    "ipv6": lambda: masters("[fd77::1]:29400"),
    "cut_member": lambda: lost("cut", "h2"),
    "kill_member": lambda: lost("kill", "h3"),
    "cut_host": lambda: lost("cut", "h1"),
    "kill_host": lambda: lost("kill", "h1"),
    "parted_host_with_two": lambda: parted(("h1", "h2")),
    "parted_host_with_three": lambda: parted(("h4", "h5")),
    "frozen": frozen,
    "first_place_down": first_place_down,
    "left_alone": left_alone,
    "pod_returns": pod_returns,
    "missed_end": missed_end,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
