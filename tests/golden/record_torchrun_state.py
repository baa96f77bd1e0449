#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Round states as torchrun's agents write them, and what they mean: torchrun_state.json beside this file.

Two come from handlers that met through a TCPStore, the others are instances of torchrun's class pickled as its handler does, in
all protocols, with all that the class has had over the releases. Recorded with PyTorch 2.13 on CPython 3.11.
"""
import base64
import json
import os
import pickle
import threading
from datetime import datetime, timedelta, timezone

from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState, create_handler

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torchrun_state.json")
CASES = {}


def in_us(time):
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return {"utc_us": (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1), "aware": time.tzinfo is not None}


def node(desc):
    return [desc.addr, desc.pid, desc.local_id]


def meaning(state):
    known = vars(state)
    return {
        "round": state.round,
        "complete": state.complete,
        "deadline": in_us(state.deadline) if state.deadline else None,
        "closed": state.closed,
        "participants": sorted([*node(desc), rank] for desc, rank in state.participants.items()),
        "wait_list": sorted(map(node, state.wait_list)),
        "redundancy_list": sorted(map(node, state.redundancy_list)) if "redundancy_list" in known else None,
        "last_heartbeats": sorted([*node(desc), in_us(time)] for desc, time in state.last_heartbeats.items()),
        "others": len(known) - 7 - ("redundancy_list" in known),
    }


def record(name, state, protocol=None, means=True):
    CASES[name] = {"value": base64.b64encode(pickle.dumps(state, protocol=protocol)).decode(), "means": meaning(state) if means else None}


def full(zone=timezone.utc, nodes=3):
    state = _RendezvousState()
    state.round = 4
    state.deadline = datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=zone)
    for i in range(nodes):
        desc = _NodeDesc(f"host-{i}.example.org", 4_000_000 + i, 0)
        state.participants[desc] = i
        state.last_heartbeats[desc] = datetime(2026, 1, 1, 12, 30, i % 60, i, tzinfo=zone)
    waits, spare = _NodeDesc("10.0.0.9", 12, 1), _NodeDesc("höst-ü.example.org", 70_000, 0)
    state.wait_list.add(waits)
    state.redundancy_list.add(spare)
    state.last_heartbeats[waits] = datetime(1999, 12, 31, tzinfo=zone)
    state.last_heartbeats[spare] = datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=zone)
    return state


def met():
    """What lies under the key after two handlers met, and after one of them has closed."""
    server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    handlers = []
    for address in ("10.0.0.1", "10.0.0.2"):
        store = TCPStore("127.0.0.1", server.port, is_master=False, wait_for_workers=False)
        parameters = RendezvousParameters("c10d", f"127.0.0.1:{server.port}", "golden", 2, 2, local_addr=address)
        handlers.append(create_handler(store, C10dRendezvousBackend(store, "golden"), parameters))
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    threads = [threading.Thread(target=handler.next_rendezvous) for handler in handlers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("two handlers have met", "one has closed"):
        value = server.get("torch.rendezvous.golden")
        CASES[name] = {"value": value.decode(), "means": meaning(pickle.loads(base64.b64decode(value)))}
        handlers[0].shutdown()
    handlers[1].shutdown()


def main():
    met()
    record("nobody yet", _RendezvousState())
    for protocol in (2, 3, 4, 5):
        record(f"everything, protocol {protocol}", full(), protocol)
    record("times without a zone, as before release 2.6", full(zone=None))
    record("a zone that is not UTC", full(zone=timezone(timedelta(hours=-5, minutes=-30))))
    record("more nodes than one batch or a one-byte reference holds", full(nodes=1100), means=False)
    old = full()
    del old.redundancy_list
    record("no redundancy list, as before release 2.3", old)
    new = full()
    new.fencing = {"epochs": [1, -2, 2**40, 2.5, None, True], "by": _NodeDesc("a", 1, 0), "key": b"\0\xff", "pair": (1, "x", (), {2}),
                   "since": datetime(2030, 1, 1)}
    new.note = "text" * 100
    record("attributes of a newer release", new)
    with open(FILE, "w", encoding="utf-8") as file:
        json.dump(CASES, file, ensure_ascii=False, indent=None, separators=(",", ":"))
        file.write("\n")
    print(f"{len(CASES)} states in {FILE}")


main()
