# SPDX-License-Identifier: Apache-2.0
"""A worker: rank 0 sets a key of the round's store and is done at once; the others ask for it, in TCPStore's bytes, until $GO exists."""

import os
import socket
import struct

VALIDATE, SET, GET = 0, 1, 3  # rendezvous/wire/opcode.hpp


def sized(text):
    return struct.pack("<Q", len(text)) + text


def receive(store, count):
    data = store.recv(count, socket.MSG_WAITALL)
    assert len(data) == count, "the store hung up"
    return data


def main():
    with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 20) as store:
        store.sendall(bytes([VALIDATE]) + struct.pack("<I", 0x3C85F7CE))
        if os.environ["RANK"] == "0":
            store.sendall(bytes([SET]) + sized(b"/key") + sized(b"of rank 0"))
            return
        asked = 0
        while not os.path.exists(os.environ["GO"]):
            store.sendall(bytes([GET]) + sized(b"/key"))
            receive(store, struct.unpack("<Q", receive(store, 8))[0])
            asked += 1
            if asked % 100 == 0:
                print("asked", asked, flush=True)


main()
