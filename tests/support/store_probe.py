# SPDX-License-Identifier: Apache-2.0
"""A worker that counts its world through the round's store, in TCPStore's bytes: run by the tests of `muster run`."""

import os
import socket
import struct

VALIDATE, ADD = 0, 4  # rendezvous/wire/opcode.hpp


def sized(text):
    return struct.pack("<Q", len(text)) + text


def main():
    with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 20) as store:
        store.sendall(bytes([VALIDATE]) + struct.pack("<I", 0x3C85F7CE))
        store.sendall(bytes([ADD]) + sized(b"/count") + struct.pack("<q", 1))
        count = struct.unpack("<q", store.recv(8, socket.MSG_WAITALL))[0]
        if count == int(os.environ["WORLD_SIZE"]):
            print("counted", count, flush=True)


main()
