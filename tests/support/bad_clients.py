# SPDX-License-Identifier: Apache-2.0
"""Clients that a listener meets when its port is open to more than its job: scans, garbage, floods, half requests.

    with BadClients("127.0.0.1", port) as bad:
        for step in bad.steps():
            ...  # those of the job are served, whatever has happened so far
"""

import os
import random
import select
import socket
import ssl
import struct

STORE = bytes.fromhex("00cef7853c")  # rendezvous/wire/greeting.hpp
HUGE = struct.pack("<Q", 1 << 40)
MEBIBYTE = 1 << 20


def opening(name=b"mallory", run_id=b"none", version=None):
    """A plain opening (rendezvous/control/handshake.hpp)."""
    body = b"\0" * 33 + struct.pack("<Q", 0) + struct.pack("<H", len(run_id)) + run_id + struct.pack("<H", len(name)) + name
    return b"MUSTER" + bytes([version]) + b"\n" + struct.pack("<H", len(body)) + body


def protocol_version(host, port):
    """What the listener says that it speaks."""
    with socket.create_connection((host, port), 20) as probe:
        probe.sendall(b"MUSTER\xff\n")
        greeting = b""
        while len(greeting) < 8:
            part = probe.recv(8 - len(greeting))
            assert part, f"closed after {greeting!r}"
            greeting += part
    assert greeting.startswith(b"MUSTER"), greeting
    return greeting[6]


class BadClients:
    """Each step is one kind of bad client, in numbers; what it opened stays open until the end."""

    def __init__(self, host, port, seed=1):
        self.host, self.port = host, port
        self.random = random.Random(seed)
        self.open = []
        self.version = protocol_version(host, port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.open:
            client.close()

    def call(self, data=b"", keep=True):
        client = socket.create_connection((self.host, self.port), 20)
        client.setblocking(False)
        self.push(client, data)
        if keep:
            self.open.append(client)
        else:
            client.close()
        return client

    @staticmethod
    def push(client, data):
        """As much as the listener takes without being waited for."""
        view = memoryview(data)
        try:
            while view:
                view = view[client.send(view):]
        except (BlockingIOError, ConnectionError):
            pass

    def scan(self, count=100):
        for _ in range(count):
            client = self.call(keep=False)
        for _ in range(count):
            client = socket.create_connection((self.host, self.port), 20)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends in a reset
            client.close()

    def garbage(self, count=100):
        for _ in range(count):
            self.call(bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 400))))
        for data in (b"SSH-2.0-x\r\n", b"\x16\x03\x01\x02\0" + os.urandom(64), STORE[:4] + b"\0", b"GET /\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n"):
            self.call(data)

    def huge_lengths(self):
        for opcode in range(19):
            self.call(STORE + bytes([opcode]) + HUGE)
            self.call(STORE + bytes([opcode]) + b"\xff" * 64)
        self.call(opening(version=self.version) + b"\xff\xff\xff\xff")
        self.call(b"MUSTER" + bytes([self.version]) + b"\n\xff\xff" + b"x" * 1000)

    def control_garbage(self, count=50):
        for _ in range(count):
            self.call(opening(version=self.version) + struct.pack("<I", 64) + os.urandom(64))
            self.call(opening(version=self.version, run_id=os.urandom(20)))
        for version in range(256):
            self.call(b"MUSTER" + bytes([version]) + b"\n")

    def silence(self, count=400):
        for index in range(count):
            self.call((b"", b"MUS", STORE[:3], b"GET ", b"\x16")[index % 5])

    def push_all(self, count, data):
        """From each of so many clients as much as the listener takes, until it takes no more of any."""
        poll, left = select.poll(), {}
        for _ in range(count):
            client = self.call()
            left[client.fileno()] = (client, memoryview(data))
            poll.register(client, select.POLLOUT)
        while left:
            ready = poll.poll(200)
            if not ready:
                return
            for number, _ in ready:
                client, view = left[number]
                try:
                    view = view[client.send(view[:MEBIBYTE]):]
                except BlockingIOError:
                    continue
                except ConnectionError:
                    view = b""
                left[number] = (client, view)
                if not view:
                    poll.unregister(number)
                    del left[number]

    def half_requests(self, count=80, size=8 * MEBIBYTE):
        """The store's: a value of the largest size but its last byte."""
        self.push_all(count, STORE + b"\x01" + struct.pack("<Q", 4) + b"/bad" + struct.pack("<Q", size) + b"x" * (size - 1))

    def half_letters(self, count=40, size=4 * MEBIBYTE):
        self.push_all(count, opening(version=self.version) + struct.pack("<I", size) + b"x" * (size - 1))

    def trickle(self, count=30):
        """One byte of a request or an opening at a time."""
        for _ in range(count):
            self.push(self.call(STORE + b"\x01\x08"), b"\0")
            self.push(self.call(b"MUSTER"), bytes([self.version]))

    def tls_hellos(self, count=300):
        """The first words of a handshake, which cost the listener a signature, and no more."""
        hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        try:
            context.wrap_bio(*hello).do_handshake()
        except ssl.SSLWantReadError:
            pass
        data = hello[1].read()
        for _ in range(count):
            self.call(data)

    def steps(self):
        for step in (self.scan, self.garbage, self.huge_lengths, self.control_garbage, self.tls_hellos, self.silence, self.half_requests, self.half_letters,
                     self.trickle, self.scan):
            step()
            yield step.__name__
