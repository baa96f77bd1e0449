#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Round states that muster has read and written again are, to torchrun's own code, the states that they were: the recorded ones, and
500 drawn ones of up to 300 nodes, with missing and unknown attributes and both forms of times."""

import base64
import json
import os
import pickle
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone

from muster_case import SOURCE_DIR
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState

REWRITE = os.path.join(os.environ["MUSTER_TEST_DIR"], "state_rewrite")


def drawn(chance):
    zone = chance.choice([timezone.utc, None])
    def time():
        return datetime(chance.randint(1970, 2100), 1, 1, tzinfo=zone) + timedelta(microseconds=chance.randrange(10**13))
    nodes = [_NodeDesc(chance.choice(["host-%d", "10.0.0.%d", "fe80::%d", "höst%d"]) % i, chance.randrange(2**chance.choice([7, 15, 22])),
                       chance.randrange(3)) for i in range(chance.choice([0, 1, 2, 3, 20, 300]))]
    state = _RendezvousState()
    state.round = chance.choice([0, 1, 255, 256, 70_000, 2**33])
    state.complete, state.closed = chance.random() < 0.5, chance.random() < 0.2
    state.deadline = time() if chance.random() < 0.5 else None
    for rank, node in enumerate(nodes):
        kind = chance.random()
        if kind < 0.7:
            state.participants[node] = rank
        elif kind < 0.85:
            state.wait_list.add(node)
        else:
            state.redundancy_list.add(node)
        state.last_heartbeats[node] = time()
    if chance.random() < 0.2:
        del state.redundancy_list
    if chance.random() < 0.2:
        state.later = chance.choice([1.5, -(2**40), "x", b"\xff", (1, [2, {3}]), {"k": nodes[:1], (): None}, True, time()])
    return state


def main():
    with open(os.path.join(SOURCE_DIR, "tests", "golden", "torchrun_state.json"), encoding="utf-8") as file:
        values = [entry["value"] for entry in json.load(file).values()]
    seed = random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    values += [base64.b64encode(pickle.dumps(drawn(chance))).decode() for _ in range(500)]
    done = subprocess.run([REWRITE], input="\n".join(values), capture_output=True, text=True, check=True)
    written = done.stdout.split()
    assert len(written) == len(values), (len(written), len(values))
    for before, after in zip(values, written):
        was, now = (pickle.loads(base64.b64decode(value)) for value in (before, after))
        assert type(now) is type(was) and vars(now) == vars(was), (vars(was), vars(now))
        assert {type(node) for node in now.participants} <= {_NodeDesc}
    print(f"{len(values)} states are the same to torchrun", flush=True)


main()
sys.exit(0)
