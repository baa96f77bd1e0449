#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who is let in, who is not, and that those who are not disturb nobody: `muster run` and musterd as processes.

Usage: security_test.py CASE (see CASES at the end). The workers are shell scripts; waits end at a line or a state.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request

from bad_clients import BadClients, STORE
from listening import family_of, listening_addresses
from muster_case import Process, binary, processes_with, run, skip, wait_for
from node_job import HOLD, Job, expect, lines, listens

TOKEN, OTHER_TOKEN = "a token of this very job", "a token of another job"
PING, PONG = b"\x0dabcd", b"abcd"
MEBIBYTE = 1 << 20
# What an attacked process may hold: the store's bound for half requests, and as much again for all else.
MOST_MEMORY = 512 * MEBIBYTE


def needs_module():
    if not os.path.exists(os.path.join(os.path.dirname(binary("muster")), "libmuster_secure.so")):
        skip("muster was built without OpenSSL (libssl-dev)")


class Secured(Job):
    """A job whose nodes have a token, or not, each as it is started with."""

    def start(self, *options, token=TOKEN, **more):
        saved = os.environ.pop("MUSTER_TOKEN", None)
        if token is not None:
            os.environ["MUSTER_TOKEN"] = token
        try:
            return super().start(*options, **more)
        finally:
            os.environ.pop("MUSTER_TOKEN", None)
            if saved is not None:
                os.environ["MUSTER_TOKEN"] = saved


def memory_of(pid):
    """At its most; 0 for one that has ended, such as a worker's shell."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            most = re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M)
    except FileNotFoundError:
        return 0
    return int(most.group(1)) * 1024 if most else 0


def store_answers(host, port):
    """Whether the store of that port answers us."""
    try:
        with socket.create_connection((host, port), 20) as client:
            client.sendall(STORE + PING)
            return client.recv(4, socket.MSG_WAITALL) == PONG
    except ConnectionError:
        return False


def token():
    """Nodes with one token form a job. No worker sees it."""
    needs_module()
    script = "echo rank $$RANK token [$${MUSTER_TOKEN-none}]"
    for static in (False, True):
        with Secured("--nnodes=2", static=static, script=script) as job:
            nodes = [job.start(rank=0), job.start(rank=1)]
            for node in nodes:
                expect(node.wait(), 0, node)
                assert len(lines(node, r"rank \d token \[none\]")) == 2, node.output()


def token_file():
    """The token may stand in a file that its owner alone reads; any other file is refused before anything starts."""
    needs_module()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "token")
        with open(path, "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        os.chmod(path, 0o600)
        with Secured("--nnodes=2", script="true") as job:
            nodes = [job.start(f"--token-file={path}", token=None), job.start(token=TOKEN)]
            for node in nodes:
                expect(node.wait(), 0, node)
        os.chmod(path, 0o640)
        with Secured("--nnodes=2", script="true") as job:
            node = job.start(f"--token-file={path}", token=None)
            expect(node.wait(), 1, node)
            node.wait_for_output("its mode is 0640, allowed is 0600")
            other = job.start(f"--token-file={path}", token="0123456789abcdef")
            expect(other.wait(), 1, other)


def wrong_token():
    """Another token, or none, is refused by code 84 with both hosts named; the job meets all the same."""
    needs_module()
    here = socket.gethostname()
    with Secured("--nnodes=2", script="echo of $$WORLD_SIZE") as job:
        host = job.start()
        wait_for("the first node hosts", lambda: listens(job.port))
        wrong = job.start(token=OTHER_TOKEN)
        expect(wrong.wait(), 84, wrong)
        wrong.wait_for_output(f"host {here} refused this node's job token.*MUSTER_TOKEN must be the same on host {here} and host {here}")
        host.wait_for_output(f"control connection from 127.0.0.1: host {here} does not know the job token")
        none = job.start(token=None)
        expect(none.wait(), 84, none)
        none.wait_for_output(f"host {here} asks for a job token; this node has none .set MUSTER_TOKEN")
        host.wait_for_output(f"host {here} has no job token; this node asks for one")
        right = job.start()
        for node in (host, right):
            expect(node.wait(), 0, node)
            assert len(lines(node, "of 4")) == 2, node.output()
    with Secured("--nnodes=2", script=HOLD) as job:
        host = job.start(token=None)
        wait_for("the first node hosts", lambda: listens(job.port))
        asks = job.start()
        expect(asks.wait(), 84, asks)
        asks.wait_for_output(f"host {here} has no job token; this node asks for one")
        host.wait_for_output(f"host {here} asks for a job token; this node has none")


def certificates(folder):
    program = os.path.join(os.environ["MUSTER_TEST_DIR"], "make_certificates")
    if not os.path.exists(program):
        skip("the tests were built without OpenSSL (libssl-dev)")
    subprocess.run([program, folder], check=True)

    def options(who="node", authority="ca"):
        return [f"--tls-cert={folder}/{who}.pem", f"--tls-key={folder}/{who}.key", f"--tls-ca={folder}/{authority}.pem"]
    return options


def tls():
    """Nodes and musterd with certificates of one authority; one without, and one of another authority, are told and refused."""
    needs_module()
    here = socket.gethostname()
    with tempfile.TemporaryDirectory() as folder:
        options = certificates(folder)
        with Secured("--nnodes=2", script="echo of $$WORLD_SIZE") as job:
            host = job.start(*options())
            wait_for("the first node hosts", lambda: listens(job.port))
            plain = job.start()
            expect(plain.wait(), 84, plain)
            plain.wait_for_output(f"host {here} asks for TLS; this node has no certificate .give --tls-cert")
            host.wait_for_output(f"host {here} speaks without TLS; this node asks for it")
            stranger = job.start(*options("stranger"))
            expect(stranger.wait(), 84, stranger)
            stranger.wait_for_output("TLS handshake failed")
            host.wait_for_output("TLS handshake failed")
            right = job.start(*options())
            for node in (host, right):
                expect(node.wait(), 0, node)
        with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0", *options()]) as daemon, \
                Secured("--nnodes=2", script="true") as job:
            job.port = int(daemon.wait_for_output(r"listening on \S+:(\d+)").group(1))
            nodes = [job.start(*options(), token=None) for _ in range(2)]
            for node in nodes:
                expect(node.wait(), 0, node)
        with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as daemon, Secured("--nnodes=2", script="true") as job:
            job.port = int(daemon.wait_for_output(r"listening on \S+:(\d+)").group(1))
            asks = job.start(*options(), token=None)
            expect(asks.wait(), 84, asks)
            asks.wait_for_output(f"host {here} speaks without TLS; this node asks for it")
            daemon.wait_for_output("host 127.0.0.1 asks for TLS; this node has no certificate")
        status, output = run([binary("musterd"), "--port", "0", *options("missing")])
        assert status == 1 and "missing.pem: No such file" in output, output
        status, output = run([binary("musterd"), "--port", "0", *options()[:2]])
        assert status == 2 and "TLS needs all of" in output and "missing: --tls-ca" in output, output


def daemon_store():
    """With a token musterd's own store is closed to everybody, unless --open-store; without one it is open."""
    needs_module()
    for environment, options, is_open in (({}, [], True), ({"MUSTER_TOKEN": TOKEN}, [], False), ({"MUSTER_TOKEN": TOKEN}, ["--open-store"], True)):
        with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0", *options], extra_env=environment) as daemon:
            port = int(daemon.wait_for_output(r"listening on \S+:(\d+)").group(1))
            assert store_answers("127.0.0.1", port) == is_open, (options, daemon.output())
            assert ("--open-store opens it" in daemon.output()) == (not is_open), daemon.output()
    status, output = run([binary("musterd"), "--port", "0"], extra_env={"MUSTER_TOKEN": ""})
    assert status == 1 and "MUSTER_TOKEN holds a token of 0 characters" in output, output


def no_module():
    """Without libmuster_secure.so everything works but a token and TLS, which say what they need."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("muster", "musterd"):
            shutil.copy(binary(name), folder)
        muster = [os.path.join(folder, "muster"), "run", "--no-python", "--nnodes=2", "--master-addr=127.0.0.1", "true"]
        status, output = run(muster, extra_env={"MUSTER_TOKEN": TOKEN})
        assert status == 1 and re.search(r"job tokens and TLS need libmuster_secure\.so, which is neither in \S+ nor", output), output
        alone = [os.path.join(folder, "muster"), "run", "--no-python", "--standalone", "true"]
        status, output = run(alone, extra_env={"MUSTER_TOKEN": TOKEN})
        assert status == 0 and "libmuster_secure" not in output, output
        status, output = run([os.path.join(folder, "musterd"), "--port", "0"], extra_env={"MUSTER_TOKEN": TOKEN})
        assert status == 1 and "libmuster_secure.so" in output, output


def attacked_job(secured):
    """A job of two nodes under scans, garbage, floods and half requests at its endpoint: it succeeds, and holds little memory.

    Secured: with a token and TLS.
    """
    with tempfile.TemporaryDirectory() as folder, \
            Secured("--nnodes=2", script=f"echo held $$RANK; until [ -e {folder}/over ]; do sleep 0.05; done; echo done $$RANK") as job:
        given = TOKEN if secured else None
        if secured:
            needs_module()
            job.options += certificates(folder)()
        host = job.start(token=given)
        wait_for("the first node hosts", lambda: listens(job.port))
        with BadClients("127.0.0.1", job.port) as bad:
            steps = bad.steps()
            for _, step in zip(range(6), steps):
                print(f"  while it gathers: {step}", flush=True)
            other = job.start(token=given)
            for node in (host, other):
                wait_for("its workers run", lambda node=node: len(lines(node, r"^held \d")) == 2)
            for step in steps:
                print(f"  while it runs: {step}", flush=True)
            for pid in family_of(host.pid):
                assert memory_of(pid) < MOST_MEMORY, (pid, memory_of(pid))
            with open(f"{folder}/over", "w", encoding="ascii"):
                pass
            for node in (host, other):
                expect(node.wait(), 0, node)
                assert len(lines(node, r"^done \d")) == 2, node.output()
        said = [line for line in host.output().splitlines() if line.startswith("muster: ")]
        assert 0 < len(said) <= 25, host.output()
        wait_for("no worker survives", lambda: not processes_with(f"TWO_NODES_MARK={job.mark}"))


def attacked_daemon():
    """A live musterd under the same: a client of the store and a job are served at every step, and all of it is counted."""
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as daemon:
        port = int(daemon.wait_for_output(r"listening on \S+:(\d+)").group(1))
        with socket.create_connection(("127.0.0.1", port), 20) as good, BadClients("127.0.0.1", port) as bad:
            good.sendall(STORE)
            for step in bad.steps():
                print(f"  {step}", flush=True)
                for _ in range(50):
                    good.sendall(PING)
                    assert good.recv(4, socket.MSG_WAITALL) == PONG
                assert store_answers("127.0.0.1", port), "a newcomer is not served"
            with Job("--nnodes=2", script="true") as job:
                job.port = port
                for node in [job.start(), job.start()]:
                    expect(node.wait(), 0, node)
            assert memory_of(daemon.pid) < MOST_MEMORY, memory_of(daemon.pid)
            metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20).read().decode()
            for counted in ('muster_connections_refused_total{reason="unknown_greeting"}', 'muster_connections_refused_total{reason="violation"}',
                            'muster_control_ends_total{reason="protocol"}', 'muster_control_ends_total{reason="version"}',
                            'muster_control_ends_total{reason="limit"}', "muster_client_holds_total"):
                assert int(re.search(rf"^{re.escape(counted)} (\d+)$", metrics, re.M).group(1)) > 0, counted
        assert len(daemon.output().splitlines()) <= 30, daemon.output()


def loopback_only():
    """A job of one node that names no address listens on loopback alone, its store takes this machine's connections alone."""
    for options in (["--standalone"], [], ["--rdzv-backend=c10d", "--nnodes=1"]):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo held $$MASTER_PORT; until [ -e {folder}/over ]; do sleep 0.05; done"
            with Process([binary("muster"), "run", *options, "--no-python", "sh", "-c", script]) as node:
                port = int(node.wait_for_output(r"^held (\d+)").group(1))
                found = listening_addresses(family_of(node.pid))
                assert found == {("127.0.0.1", port)}, (options, found)
                assert store_answers("127.0.0.1", port)
                with open(f"{folder}/over", "w", encoding="ascii"):
                    pass
                assert node.wait() == 0, node.output()


CASES = {
    "token": token,
    "token_file": token_file,
    "wrong_token": wrong_token,
    "tls": tls,
    "daemon_store": daemon_store,
    "no_module": no_module,
    "attacked_job": lambda: attacked_job(secured=False),
    "attacked_secured_job": lambda: attacked_job(secured=True),
    "attacked_daemon": attacked_daemon,
    "loopback_only": loopback_only,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
