#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which addresses nodes use, across hosts in network namespaces: families, several networks, firewalls, names that come late.

Usage: network_addresses_test.py CASE (see CASES at the end). Needs root and iproute2; skips where namespaces are refused.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from held_job import HeldJob
from listening import family_of, listening_addresses
from muster_case import Hosts, Process, binary, run, skip, wait_for

WITHIN = 5.0  # what cannot be reached is named within so many seconds
SPARE = 3.0  # for a machine that is busy with other tests
# Each worker opens the master's port, as its library would do first of all.
DIAL = "echo at $$RANK $$MASTER_ADDR nccl=$$NCCL_SOCKET_IFNAME gloo=$$GLOO_SOCKET_IFNAME;" \
       " exec bash -c 'exec 3<>/dev/tcp/$${MASTER_ADDR}/$$MASTER_PORT'"


def run_on(hosts, host, *command):
    status, output = run(hosts.command(host, *command), 20)
    assert status == 0, f"{host}: {' '.join(command)}: {output}"
    return output


def begin(hosts, host, endpoint, *options, script=DIAL, backend="c10d"):
    where = [f"--rdzv-endpoint={endpoint}"] if endpoint else []
    return Process(hosts.command(host, binary("muster"), "run", "--no-python", f"--rdzv-backend={backend}", "--rdzv-id=net", *where,
                                 *options, "/bin/sh", "-c", script))


@contextlib.contextmanager
def job(hosts, endpoint, *options, count=None, **more):
    """The nodes of one job on h1, h2, ...; ended when the block is left."""
    count = count or hosts.count
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(begin(hosts, f"h{i}", endpoint, f"--nnodes={count}", *options, **more)) for i in range(1, count + 1)]


def ways(nodes):
    """By node: master's address, NCCL's and gloo's interface, once all have ended well."""
    found = []
    for node in nodes:
        assert node.wait() == 0, node.output()
        found.append(re.search(r"^at \d+ (\S+) nccl=(\S*) gloo=(\S*)", node.output(), re.M).groups())
    return found


def hosts_file(hosts, host, text):
    """Its own /etc/hosts."""
    path = f"/dev/shm/hosts-{os.getpid()}"  # /dev/shm is the host's own
    run_on(hosts, host, "sh", "-c", f"printf '%s\\n' '{text}' > {path} && mount --bind {path} /etc/hosts")


def without_ipv4(hosts):
    for i in range(1, hosts.count + 1):
        run_on(hosts, f"h{i}", "ip", "addr", "del", f"10.77.0.{i}/24", "dev", "eth0")
        hosts_file(hosts, f"h{i}", "::1 localhost\nfd77::1 head")


def ipv6_only(endpoint):
    """Hosts without an IPv4 address meet and reach the master's store over IPv6."""
    with Hosts(3) as hosts:
        without_ipv4(hosts)
        with job(hosts, endpoint) as nodes:
            assert {way[0] for way in ways(nodes)} == {"fd77::1"}


def ipv6_static():
    """A bare IPv6 address is a master's address."""
    with Hosts(2) as hosts:
        without_ipv4(hosts)
        ranked = [begin(hosts, f"h{i + 1}", "", "--nnodes=2", f"--node-rank={i}", "--master-addr=fd77::1", backend="static") for i in (0, 1)]
        with ranked[0], ranked[1]:
            assert {way[0] for way in ways(ranked)} == {"fd77::1"}


def without_ipv6():
    """Hosts whose kernel has no IPv6 listen on IPv4 alone, and find localhost although it is ::1 first."""
    with Hosts(2) as hosts:
        for host in ("h1", "h2"):
            run_on(hosts, host, "sysctl", "-qw", *(f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ("all", "default", "lo", "eth0")))
            hosts_file(hosts, host, "::1 localhost\n127.0.0.1 localhost\n10.77.0.1 head")
        with job(hosts, "head:29400") as nodes:
            assert {way[0] for way in ways(nodes)} == {"10.77.0.1"}
        with job(hosts, "localhost:29400", count=1) as nodes:
            assert len(ways(nodes)) == 1


def link_local():
    """Hosts with nothing but link-local addresses meet at one, each by its own interface."""
    with Hosts(2) as hosts:
        for i in (1, 2):
            run_on(hosts, f"h{i}", "ip", "addr", "flush", "dev", "eth0", "scope", "global")
            run_on(hosts, f"h{i}", "ip", "addr", "add", f"fe80::{i}/64", "dev", "eth0", "nodad")
        run_on(hosts, "h2", "ip", "link", "set", "dev", "eth0", "down")
        run_on(hosts, "h2", "ip", "link", "set", "dev", "eth0", "name", "net7")
        run_on(hosts, "h2", "ip", "link", "set", "dev", "net7", "up")
        run_on(hosts, "h2", "ip", "addr", "replace", "fe80::2/64", "dev", "net7", "nodad")
        with begin(hosts, "h1", "[fe80::1%eth0]:29400", "--nnodes=2") as a, begin(hosts, "h2", "[fe80::1%net7]:29400", "--nnodes=2") as b:
            assert [way[0] for way in ways([a, b])] == ["fe80::1%eth0", "fe80::1%net7"]


DATA = {"h1": "data0", "h2": "ib3", "h3": "enp5"}  # the second network's interface has a name of its own on each host


def second_network(hosts):
    """10.78.0.0/24 beside 10.77.0.0/24; on each host also a bridge of containers and a card behind a translator, with one address on all."""
    lab = hosts.environment["NETHOSTS_LAB"]
    ip = lambda *words: subprocess.run(["ip", *words], check=True)
    ip("-n", f"{lab}-sw", "link", "add", "br1", "type", "bridge")
    ip("-n", f"{lab}-sw", "link", "set", "dev", "br1", "up")
    for i, (host, interface) in enumerate(DATA.items(), 1):
        inside, port = f"{lab}-{host}", f"d-{host}"
        ip("link", "add", interface, "netns", inside, "type", "veth", "peer", "name", port, "netns", f"{lab}-sw")
        ip("-n", f"{lab}-sw", "link", "set", "dev", port, "master", "br1", "up")
        ip("-n", inside, "addr", "add", f"10.78.0.{i}/24", "dev", interface)
        ip("-n", inside, "link", "add", "docker0", "type", "bridge")
        ip("-n", inside, "link", "add", "pod0", "type", "veth", "peer", "name", "nat0")
        ip("-n", inside, "link", "set", "dev", "pod0", "master", "docker0", "up")
        ip("-n", inside, "addr", "add", "172.17.0.1/16", "dev", "docker0")
        ip("-n", inside, "addr", "add", "10.0.2.15/24", "dev", "nat0")
        for name in (interface, "docker0", "nat0"):
            ip("-n", inside, "link", "set", "dev", name, "up")
        names = [f"127.0.1.1 {host}"] + [f"10.77.0.{j} h{j}" for j in range(1, 4) if j != i]
        hosts_file(hosts, host, "127.0.0.1 localhost\n" + "\n".join(names))


def two_networks():
    """Of two networks the nodes take the one that they met by, or that they were told, and name it to NCCL and gloo."""
    with Hosts(3) as hosts:
        second_network(hosts)
        data = [("10.78.0.1", f"={name}", name) for name in DATA.values()]
        with job(hosts, "h1:29400") as nodes:
            assert ways(nodes) == [("10.77.0.1", "=eth0", "eth0")] * 3
        with job(hosts, "10.78.0.1:29400") as nodes:
            assert ways(nodes) == data
            for node, interface in zip(nodes, DATA.values()):
                assert len(re.findall(rf"network: 10\.78\.0\.0/24 by {interface}, master 10\.78\.0\.1:\d+$", node.output(), re.M)) == 1, \
                    node.output()
        with job(hosts, "h1:29400", "--network=data0,ib3,enp5") as nodes:
            assert ways(nodes) == data
        with job(hosts, "h1:29400", "--network=10.78.0.0/16") as nodes:
            assert ways(nodes) == data


def listens_at(node, *wanted):
    found = listening_addresses(family_of(node.pid))
    assert found == set(wanted), (found, node.output())


def chosen_address():
    """Nodes listen at the address of the endpoint, at which they reach it, and at the one that was chosen, never at all."""
    with Hosts(3) as hosts:
        second_network(hosts)
        with HeldJob(hosts, "10.77.0.1:29400") as held:
            listens_at(held.nodes[0], ("10.77.0.1", 29400), ("10.77.0.1", held.master[1]))
            listens_at(held.nodes[1], ("10.77.0.2", 29400))
        with HeldJob(hosts, "[fd77::1]:29400") as held:
            listens_at(held.nodes[0], ("fd77::1", 29400), ("fd77::1", held.master[1]))
            listens_at(held.nodes[1], ("fd77::2", 29400))
        for network in ("10.78.0.0/16", "data0,ib3", "10.78.0.1,10.78.0.2"):
            with HeldJob(hosts, "10.77.0.1:29400", f"--network={network}") as held:
                listens_at(held.nodes[0], ("10.77.0.1", 29400), ("10.78.0.1", 29400), ("10.78.0.1", held.master[1]))
                listens_at(held.nodes[1], ("10.78.0.2", 29400))
        with HeldJob(hosts, "10.77.0.1:29500", static=True) as held:
            listens_at(held.nodes[0], ("10.77.0.1", 29500))
            listens_at(held.nodes[1])
        with Process(hosts.command("h3", binary("musterd"), "--host", "10.78.0.3")) as daemon:
            daemon.wait_for_output("listening on")
            listens_at(daemon, ("10.78.0.3", 29400))
            with HeldJob(hosts, "10.78.0.3:29400") as held:
                listens_at(held.nodes[0], ("10.78.0.1", 29400), ("10.78.0.1", held.master[1]))
                listens_at(held.nodes[1], ("10.78.0.2", 29400))


def wish_of_nothing():
    """A network that a node does not have is refused there, with those that it has."""
    with Hosts(1) as hosts, begin(hosts, "h1", "h1:29400", "--nnodes=2", "--network=ib0") as node:
        assert node.wait() == 1, node.output()
        assert "--network=ib0: host h1 has no such network" in node.output() and "eth0 10.77.0.1/24" in node.output(), node.output()


def refused_everywhere(nodes, pattern, begun):
    for node in nodes:
        assert node.wait(WITHIN + SPARE + 10) == 84, node.output()
        assert re.search(pattern, node.output()), f"not said: {pattern}\n{node.output()}"
        assert not re.search("^at", node.output(), re.M), f"workers were started:\n{node.output()}"
    assert time.monotonic() - begun < WITHIN + SPARE


def unreachable_pair():
    """Two members that the host reaches, but not each other, are named on every node before a worker starts."""
    if not shutil.which("nft"):
        skip("nftables is not installed (scripts/setup --with-peers)")
    with Hosts(3) as hosts:
        done = hosts.call("cut", "h2", "h3")
        assert done.returncode == 0, done.stdout
        begun = time.monotonic()
        with job(hosts, "h1:29400") as nodes:
            refused_everywhere(nodes, r"host h2 .*cannot reach host h3 at 10\.77\.0\.3|host h3 .*cannot reach host h2 at 10\.77\.0\.2", begun)


def open_ports(hosts, host, ports):
    """A firewall that drops every call to other ports."""
    if not shutil.which("nft"):
        skip("nftables is not installed (scripts/setup --with-peers)")
    rules = f"table inet wall {{\nchain in {{\ntype filter hook input priority 0;\n" \
            f"iifname eth0 tcp flags & (syn|ack) == syn tcp dport != {{ {ports} }} drop\n}}\n}}"
    run_on(hosts, host, "sh", "-c", f"nft delete table inet wall 2>/dev/null; echo '{rules}' | nft -f -")


def firewall():
    """With the endpoint's port alone open static goes on and c10d names the blocked one; with --store-ports open it goes on as well."""
    with Hosts(2) as hosts:
        open_ports(hosts, "h1", "29500")
        ranked = [begin(hosts, f"h{i + 1}", "", "--nnodes=2", f"--node-rank={i}", "--master-addr=h1", backend="static") for i in (0, 1)]
        with ranked[0], ranked[1]:
            assert [way[0] for way in ways(ranked)] == ["h1", "h1"]
        open_ports(hosts, "h1", "29400, 29600-29620")
        begun = time.monotonic()
        with job(hosts, "h1:29400") as nodes:
            refused_everywhere(nodes, r"host h2 \(10\.77\.0\.2\) cannot reach host h1 at 10\.77\.0\.1:\d+", begun)
        with job(hosts, "h1:29400", "--store-ports=29600-29620") as nodes:
            assert {way[0] for way in ways(nodes)} == {"10.77.0.1"}


def late_name():
    """A name that comes into being is found within the join time; until then there is one line."""
    with Hosts(2) as hosts:
        hosts_file(hosts, "h2", "127.0.0.1 localhost")
        with job(hosts, "h1:29400") as nodes:
            nodes[1].wait_for_output("cannot resolve host h1.*trying again")
            wait_for("it has tried more than once", lambda end=time.monotonic() + 1.5: time.monotonic() > end)
            run_on(hosts, "h2", "sh", "-c", "echo 10.77.0.1 h1 >> /etc/hosts")
            ways(nodes)
            assert nodes[1].output().count("cannot resolve") == 1, nodes[1].output()


def silent_name_server():
    """A node whose name server does not answer is ended at once, not when the lookup is over."""
    mute = ("import socket; server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(('127.0.0.1', 53)); print('ready', flush=True)\n"
            "while server.recv(512): print('asked', flush=True)")
    with Hosts(1) as hosts, Process(hosts.command("h1", sys.executable, "-c", mute)) as server:
        server.wait_for_output("ready")
        path = f"/dev/shm/resolv-{os.getpid()}"
        setting = "nameserver 127.0.0.1\\noptions timeout:20 attempts:1\\n"
        run_on(hosts, "h1", "sh", "-c", f"printf '{setting}' > {path} && mount --bind {path} /etc/resolv.conf")
        with begin(hosts, "h1", "head.far:29400", "--nnodes=2") as node:
            server.wait_for_output("asked")
            begun = time.monotonic()
            node.signal(signal.SIGTERM)
            assert node.wait() == 128 + signal.SIGTERM, node.output()
            assert time.monotonic() - begun < WITHIN, node.output()


def name_too_late():
    """A name that does not come into being ends the launch at the join deadline, with the name and the code for that."""
    with Hosts(1) as hosts, begin(hosts, "h1", "nobody:29400", "--nnodes=2", "--rdzv-conf=join_timeout=2,last_call_timeout=1") as node:
        assert node.wait() == 80, node.output()
        assert len(re.findall("cannot resolve host nobody.*trying again", node.output())) == 1, node.output()
        assert re.search(r"nobody answered at nobody:29400.*cannot resolve host nobody", node.output()), node.output()


def print_ports():
    """What must be open between the nodes is told without a job, and is what a job of these options has open."""
    with Hosts(2) as hosts:
        options = ["--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=10.77.0.1:29400", "--store-ports=29600-29620"]
        said = run_on(hosts, "h1", binary("muster"), "run", "--print-ports", *options)
        for port in ("29400", "29600-29620", "gloo", "NCCL"):
            assert port in said, said
        static = run_on(hosts, "h1", binary("muster"), "run", "--print-ports", "--nnodes=2", "--master-addr=h1")
        assert "29500" in static and "--store-ports" not in static, static
        with HeldJob(hosts, "10.77.0.1:29400", "--store-ports=29600-29620") as held:
            ports = {port for node in held.nodes for _, port in listening_addresses(family_of(node.pid))}
            assert ports == {29400, held.master[1]} and 29600 <= held.master[1] <= 29620, ports


def never_a_name():
    """Names that can never come into being are not waited for."""
    with Hosts(1) as hosts, begin(hosts, "h1", "head.invalid:29400", "--nnodes=2") as node:
        assert node.wait() == 1, node.output()
        assert "cannot resolve host head.invalid" in node.output(), node.output()


def nobody_hosts():
    """An endpoint that is no node's address: each says what it compared, and that it calls. One whose host is late: so does who waits."""
    line = r"nobody answers at svc:29400 for \d+ s: svc is 10\.77\.0\.99 here; this node has 10\.77\.0\.{} \(eth0\), fd77::{} \(eth0\), so another"
    with Hosts(2) as hosts:
        for host in ("h1", "h2"):
            hosts_file(hosts, host, "127.0.0.1 localhost\n10.77.0.99 svc")
        with job(hosts, "svc:29400") as nodes:
            for i, node in enumerate(nodes, 1):
                node.wait_for_output(line.format(i, i), 10)
        for host in ("h1", "h2"):
            hosts_file(hosts, host, "127.0.0.1 localhost\n10.77.0.1 svc")
        with begin(hosts, "h2", "svc:29400", "--nnodes=2") as early:
            early.wait_for_output(r"nobody answers at svc:29400 .* this node has 10\.77\.0\.2")
            with begin(hosts, "h1", "svc:29400", "--nnodes=2") as late:
                ways([early, late])


CASES = {
    "ipv6_only": lambda: ipv6_only("[fd77::1]:29400"),
    "ipv6_bare": lambda: ipv6_only("fd77::1"),
    "ipv6_name": lambda: ipv6_only("head:29400"),
    "ipv6_static": ipv6_static,
    "without_ipv6": without_ipv6,
    "link_local": link_local,
    "two_networks": two_networks,
    "chosen_address": chosen_address,
    "wish_of_nothing": wish_of_nothing,
    "unreachable_pair": unreachable_pair,
    "firewall": firewall,
    "late_name": late_name,
    "silent_name_server": silent_name_server,
    "name_too_late": name_too_late,
    "print_ports": print_ports,
    "never_a_name": never_a_name,
    "nobody_hosts": nobody_hosts,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
