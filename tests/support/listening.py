# SPDX-License-Identifier: Apache-2.0
"""Where the processes of a job listen, as the kernel says."""

import os
import re
import socket
import struct


def family_of(pid):
    """The process and its descendants."""
    family, grown = {pid}, True
    while grown:
        more = set(family)
        for each in family:
            try:
                for task in os.listdir(f"/proc/{each}/task"):
                    with open(f"/proc/{each}/task/{task}/children", encoding="ascii") as file:
                        more |= set(map(int, file.read().split()))
            except OSError:
                continue
        grown, family = more != family, more
    return family


def listening_addresses(pids):
    """(address, port) of every socket on which one of the processes listens, IPv4 and IPv6. They share one network."""
    pids = set(pids)
    inodes = set()
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
                if found:
                    inodes.add(found.group(1))
        except OSError:
            continue
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with open(f"/proc/{min(pids)}/net/{table}", encoding="ascii") as file:
            for fields in map(str.split, list(file)[1:]):
                if fields[3] == "0A" and fields[9] in inodes:
                    address, port = fields[1].split(":")
                    raw = b"".join(struct.pack("=I", int(address[i:i + 8], 16)) for i in range(0, len(address), 8))
                    found.add((socket.inet_ntop(family, raw), int(port, 16)))
    return found
