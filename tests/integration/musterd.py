#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""musterd as a process: what it prints, how it ends, and that bad clients disturb nobody."""

import os
import re
import resource
import signal
import socket
import struct
import sys
import time
import urllib.request

from muster_case import Process, binary, run, wait_for

GREETING = bytes.fromhex("00cef7853c")
PING, PONG = b"\x0dabcd", b"abcd"


def text(data):
    return struct.pack("<Q", len(data)) + data


def request(opcode, *parts):
    return bytes([opcode]) + b"".join(parts)


def started(*arguments):
    daemon = Process([binary("musterd"), "--port", "0", *arguments])
    try:
        daemon.port = int(daemon.wait_for_output(r"^musterd: listening on .*:(\d+)$").group(1))
    except AssertionError:
        daemon.close()
        raise
    return daemon


def connect(port, host="127.0.0.1", first=GREETING):
    connection = socket.create_connection((host, port), timeout=20)
    connection.sendall(first)
    return connection


def receive(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        assert part, f"closed after {len(data)} of {count} bytes"
        data += part
    return data


def until_closed(connection):
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


def answers(connection):
    connection.sendall(PING)
    assert receive(connection, 4) == PONG


def listens_on_both_families_and_says_where():
    with started() as daemon:
        answers(connect(daemon.port))
        if socket.has_ipv6 and "[::]" in daemon.output():
            answers(connect(daemon.port, "::1"))
        assert len(daemon.output().splitlines()) == 1, daemon.output()


def sigterm_ends_it_with_0_although_clients_wait():
    with started() as daemon:
        waiting, idle = connect(daemon.port), connect(daemon.port)
        waiting.sendall(request(6, struct.pack("<Q", 1), text(b"/never")))
        answers(idle)
        begin = time.monotonic()
        daemon.signal(signal.SIGTERM)
        assert daemon.wait(10) == 0, daemon.output()
        assert time.monotonic() - begin < 1.5, "nobody was owed anything, and still it waited"
        assert until_closed(idle) == b""


def sigterm_gives_a_slow_client_what_it_is_owed():
    with started() as daemon:
        client = connect(daemon.port)
        big = b"x" * (8 << 20)
        client.sendall(request(1, text(b"/big"), text(big)) + request(3, text(b"/big")))
        receive(client, 8)
        daemon.signal(signal.SIGTERM)
        assert until_closed(client) == big
        assert daemon.wait(10) == 0


def sigterm_does_not_wait_for_ever():
    with started() as daemon:
        client = connect(daemon.port)
        big = b"x" * (8 << 20)
        client.sendall(request(1, text(b"/big"), text(big)) + request(3, text(b"/big")) * 2)
        receive(client, 8)
        begin = time.monotonic()
        daemon.signal(signal.SIGTERM)
        assert daemon.wait(20) == 0
        assert time.monotonic() - begin > 1.0, "a client that was owed bytes got no time to read them"


def a_taken_port_is_one_clear_line():
    with started("--host", "127.0.0.1") as daemon:
        begin = time.monotonic()
        status, output = run([binary("musterd"), "--host", "127.0.0.1", "--port", daemon.port])
        assert status == 1 and time.monotonic() - begin < 5.0, (status, output)
        assert re.fullmatch(rf"musterd: cannot listen on 127\.0\.0\.1:{daemon.port}: .*"
                            rf"\(pid {daemon.pid} \(\S*musterd .*\), user \d+ has it; stop it, or choose another port with --port\)\n", output), output
        answers(connect(daemon.port))


def bad_hosts_and_usage_are_refused():
    status, output = run([binary("musterd"), "--host", "192.0.2.7", "--port", "0"])
    assert status == 1 and "not one of this host's" in output, output
    for arguments in (["--bogus"], ["--port", "65536"], ["--port", "x"], ["--log-level", "loud"]):
        status, output = run([binary("musterd"), *arguments])
        assert status == 2 and output.startswith("musterd: ") and output.count("\n") == 1, (arguments, status, output)
    status, output = run([binary("musterd"), "--version"])
    assert status == 0 and re.match(r"musterd \d", output), output
    status, output = run([binary("musterd"), "--help"])
    assert status == 0 and "--log-level" in output and "muster run" in output, output


def garbage_closes_its_own_connection_and_is_logged_once():
    with started() as daemon:
        good = connect(daemon.port)
        for garbage in (b"SSH-2.0-x\r\n", b"\x17\x03\x03", b"\xff" * 100):
            assert until_closed(connect(daemon.port, first=garbage)) == b""
        for broken in (request(99), request(3, struct.pack("<Q", 1 << 40)), request(1, text(b"k" * 9000)), request(0, GREETING[1:])):
            assert until_closed(connect(daemon.port, first=GREETING + broken)) == b""
        answers(good)
        assert daemon.output().count("first bytes") == 1, daemon.output()


def a_client_that_does_not_read_disturbs_nobody():
    with started() as daemon:
        slow, good = connect(daemon.port), connect(daemon.port)
        big = b"x" * (1 << 20)
        slow.sendall(request(1, text(b"/big"), text(big)))
        slow.sendall(request(3, text(b"/big")) * 200)
        half = connect(daemon.port)
        half.sendall(request(1, text(b"/never finished"))[:12])
        for _ in range(100):
            answers(good)
        assert receive(slow, 200 * (8 + len(big)))[-len(big):] == big


def it_serves_http_on_the_same_port():
    with started() as daemon:
        client = connect(daemon.port)
        client.sendall(request(1, text(b"/k"), text(b"v")))
        answers(client)
        base = f"http://127.0.0.1:{daemon.port}"
        assert urllib.request.urlopen(f"{base}/healthz", timeout=20).read() == b"ok\n"
        metrics = urllib.request.urlopen(f"{base}/metrics", timeout=20).read().decode()
        assert "\nmuster_store_keys 1\n" in metrics, metrics
        assert b'"keys": 1' in urllib.request.urlopen(f"{base}/status.json", timeout=20).read()


def two_thousand_clients_meet_at_a_barrier():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 2000 if hard >= 4096 else 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with started("--host", "127.0.0.1") as daemon:
        clients = [connect(daemon.port) for _ in range(count)]
        arrive = request(18, text(b"/gate"), struct.pack("<q", count))
        for client in clients:
            client.sendall(arrive)
        for client in clients:
            assert receive(client, 1) == b"\0"
            client.close()


def a_closed_stream_is_no_number_for_a_socket():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    closed = 'exec "$0" --port "$1" <&- >&- 2>&-'
    with Process(["/bin/sh", "-c", closed, binary("musterd"), port]) as daemon:
        def streams():
            try:
                connect(port).close()
            except ConnectionRefusedError:
                return None
            return [os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in range(3)]
        assert wait_for("it listens", streams) == ["/dev/null"] * 3


for test in (listens_on_both_families_and_says_where, sigterm_ends_it_with_0_although_clients_wait,
             sigterm_gives_a_slow_client_what_it_is_owed, sigterm_does_not_wait_for_ever, a_taken_port_is_one_clear_line,
             bad_hosts_and_usage_are_refused, garbage_closes_its_own_connection_and_is_logged_once,
             a_client_that_does_not_read_disturbs_nobody, two_thousand_clients_meet_at_a_barrier, it_serves_http_on_the_same_port,
             a_closed_stream_is_no_number_for_a_socket):
    print(test.__name__.replace("_", " "), flush=True)
    test()
sys.exit(0)
