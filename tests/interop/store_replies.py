#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same conversations, byte by byte, with PyTorch's own TCPStore server (libuv) and with musterd: the replies are the same.

Where they are meant to differ (rendezvous/README.md, "Semantics") the conversation is not held here but in the engine's unit tests."""

import datetime
import select
import socket
import struct
import sys

import torch.distributed as dist

from muster_case import Process, binary

GREETING = bytes.fromhex("00cef7853c")
PING = b"\x0dabcd"


def sized(data):
    return struct.pack("<Q", len(data)) + data


def number(value):
    return struct.pack("<q", value)


def request(opcode, *parts):
    return bytes([opcode]) + b"".join(parts)


def keys(*names):
    return number(len(names)) + b"".join(map(sized, names))


def put(key, value):
    return request(1, sized(key), sized(value))


def compare_set(key, expected, desired):
    return request(2, sized(key), sized(expected), sized(desired))


def get(key):
    return request(3, sized(key))


def add(key, amount):
    return request(4, sized(key), number(amount))


def check(*names):
    return request(5, keys(*names))


def wait(*names):
    return request(6, keys(*names))


def append(key, value):
    return request(9, sized(key), sized(value))


def push(key, value):
    return request(14, sized(key), sized(value))


def pop(key):
    return request(15, sized(key))


def barrier(key, world):
    return request(18, sized(key), number(world))


COUNT, CANCEL, LIST = request(7), request(12), request(17)

# Each conversation is a list of (client, bytes). After each step everything that any client received is noted.
CONVERSATIONS = {
    "values": [(0, put(b"/k", b"v") + get(b"/k") + get(b"/missing")), (1, append(b"/k", b"w") + get(b"/k")), (0, append(b"/new", b"1") + get(b"/new")),
               (0, request(8, sized(b"/k")) + request(8, sized(b"/k")) + COUNT + LIST), (0, put(b"", b"e") + get(b"")),
               (0, request(11, number(2), sized(b"/a"), sized(b"1"), sized(b"/b"), sized(b"")) + request(10, keys(b"/a", b"/zz", b"/b"))),
               (0, request(10, number(0)) + request(11, number(0)) + PING), (0, check(b"/a", b"/b") + check(b"/a", b"/zz") + check())],
    "compare_set": [(0, compare_set(b"/c", b"e", b"n") + COUNT), (0, compare_set(b"/c", b"", b"a")), (0, compare_set(b"/c", b"b", b"x")),
                    (0, compare_set(b"/c", b"a", b"") + compare_set(b"/c", b"", b"z") + get(b"/c")), (1, wait(b"/w")),
                    (0, compare_set(b"/w", b"", b"1"))],
    "numbers": [(0, add(b"init/", 1) + add(b"/n", -2) + get(b"/n")), (0, put(b"/t", b"12x") + add(b"/t", 1)), (0, put(b"/u", b" +7") + add(b"/u", 1)),
                (0, put(b"/v", b"9223372036854775807") + add(b"/v", 1)), (0, put(b"/e", b"") + add(b"/e", 1)), (1, put(b"/x", b"x") + add(b"/x", 1)),
                (2, put(b"/y", b"99223372036854775807") + add(b"/y", 1))],
    "waits": [(0, wait(b"/a")), (1, put(b"/a", b"1")), (0, wait(b"/a") + wait()), (0, wait(b"/a", b"/b", b"/c")), (1, put(b"/b", b"1")), (1, append(b"/c", b"1")),
              (0, wait(b"/d", b"/d")), (1, put(b"/d", b"1")), (0, wait(b"/e")), (0, CANCEL), (1, put(b"/e", b"1")), (0, CANCEL), (0, wait(b"/f") + PING),
              (1, put(b"/f", b"1")), (0, wait(b"/g")), (1, request(8, sized(b"/g"))), (1, put(b"/g", b"1") + request(8, sized(b"/g")))],
    "order": [(0, wait(b"/o")), (1, wait(b"/o")), (2, put(b"/o", b"1") + PING)],
    "own wait": [(0, wait(b"/s") + add(b"/s", 1)), (0, wait(b"/t") + put(b"/t", b"1") + PING)],
    "queues": [(0, wait(b"/q")), (1, wait(b"/q")), (2, push(b"/q", b"v1")), (2, push(b"/q", b"v2")), (2, request(16, sized(b"/q")) + pop(b"/q") + pop(b"/q") + pop(b"/q")),
               (2, pop(b"/none") + request(16, sized(b"/none"))), (2, push(b"/r", b"") + check(b"/r") + COUNT + request(8, sized(b"/r")) + LIST),
               (0, wait(b"/r") + get(b"/r"))],
    "barriers": [(0, barrier(b"/b", 1) + get(b"/b") + COUNT), (0, barrier(b"/c", 3)), (1, barrier(b"/c", 3) + get(b"/c")), (2, barrier(b"/c", 3)), (2, barrier(b"/c", 3)),
                 (0, barrier(b"/d", 2)), (0, CANCEL), (1, barrier(b"/d", 2)), (0, wait(b"/w")), (1, barrier(b"/w", 2)), (2, barrier(b"/w", 2)),
                 (0, barrier(b"/z", 0) + barrier(b"/y", -1)), (0, barrier(b"/m", 3)), (1, barrier(b"/m", 2)), (0, put(b"/t", b"x") + barrier(b"/t", 2))],
    "limits": [(0, put(b"k" * 8192, b"1") + PING), (0, get(b"k" * 8193)), (1, request(19)), (2, GREETING)],
    "big": [(0, put(b"/big", b"x" * (8 << 20)) + PING), (1, request(1, sized(b"/big"), struct.pack("<Q", (8 << 20) + 1)) + b"x")],
    "halves": [(0, get(b"/k")[:5]), (1, PING), (0, get(b"/k")[5:]), (0, put(b"/k", b"abc")[:1]), (1, PING), (0, put(b"/k", b"abc")[1:] + get(b"/k"))],
}


def receive(connections, seconds):
    """What each connection received until all have been silent for so long; None at the end of a closed one."""
    got = [b""] * len(connections)
    closed = [connection is None for connection in connections]
    while True:
        watched = [c for c, done in zip(connections, closed) if not done]
        ready = select.select(watched, [], [], seconds)[0] if watched else []
        if not ready:
            return [part + b" CLOSED" * (gone and connections[i] is not None) for i, (part, gone) in enumerate(zip(got, closed))]
        for connection in ready:
            at = connections.index(connection)
            try:
                data = connection.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            got[at] += data
            closed[at] = not data


def hold(port, steps, silence):
    connections = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(3)]
    for connection in connections:
        connection.sendall(GREETING + PING)
        while len(connection.recv(4, socket.MSG_PEEK)) < 4:
            pass
        connection.recv(4)
    heard = []
    for client, data in steps:
        if connections[client] is None:
            heard.append("nobody to ask")
            continue
        connections[client].sendall(data)
        parts = receive(connections, silence)
        heard.append(parts)
        for at, part in enumerate(parts):
            if part.endswith(b" CLOSED"):
                connections[at] = None
    for connection in filter(None, connections):
        connection.close()
    return heard


def compare(steps, silence):
    """The steps whose replies differ. A server each: the keys of one conversation are not there in the next."""
    theirs = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=60), wait_for_workers=False, use_libuv=True)
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0", "--log-level", "error"]) as daemon:
        port = int(daemon.wait_for_output(r"listening on .*:(\d+)$").group(1))
        expected, seen = hold(theirs.port, steps, silence), hold(port, steps, silence)
    return [(step, one, two) for step, one, two in zip(steps, expected, seen) if one != two]


def main():
    failed = False
    for name, steps in CONVERSATIONS.items():
        print(f"{name}: {len(steps)} steps", flush=True)
        # Silence is the only sign that no reply comes: where a busy machine makes it deceptive, listen longer.
        differences = compare(steps, 0.2) and compare(steps, 2.0)
        for (client, data), one, two in differences:
            failed = True
            print(f"  client {client} sent {data[:60]!r}\n    TCPStore: {str(one)[:200]}\n    musterd:  {str(two)[:200]}")
    return 1 if failed else 0


sys.exit(main())
