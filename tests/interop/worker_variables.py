#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker's arguments and variables under muster are those under torchrun, and two of muster's more."""

import json
import os
import re
import sys

from launchers import LAUNCHERS, one_node, scratch

DUMP = """import json, os, sys
with open(os.path.join(sys.argv[1], os.environ["RANK"] + ".json"), "w") as out:
    json.dump({"argv": sys.argv[2:], "env": dict(os.environ)}, out)
"""
OPTIONS = ["--nproc-per-node=2", "--max-restarts=3", "--role=trainer", "--rdzv-id=job7", "--log-dir", "{folder}/logs",
           "--master-port=0", "--signals-to-handle=SIGTERM,SIGUSR1"]
ARGUMENTS = ["--lr", "1", "--", "--nnodes=9", "x${local_rank}y", "$local_rank", "$$HOME", "${HOME}", "a b"]
# What names a place of this one run, and torchrun's own name for muster's port 0.
PLACES = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE", "LOGNAME"}
OURS = {"MUSTER_CPUS", "MUSTER_ROUND"}


def workers_of(launcher, folder):
    script = os.path.join(folder, "dump.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(DUMP)
    # static on port 0 is muster's alone; torchrun gets its own way to a free port.
    options = [o.format(folder=folder) for o in OPTIONS if launcher != "torchrun" or o != "--master-port=0"]
    codes, output = one_node(launcher, options, [script, folder, *ARGUMENTS], without=["OMP_NUM_THREADS"])
    if any(codes):
        raise SystemExit(f"FAILED under {launcher}: {codes}\n{output}")
    found = []
    for rank in (0, 1):
        with open(os.path.join(folder, f"{rank}.json"), encoding="utf-8") as file:
            found.append(json.load(file))
    return found


def differences(theirs, ours):
    """torchrun replaces the id of a job of one node, whatever --rdzv-id says: that one is ours to be right about."""
    wrong = []
    a, b = theirs["env"], ours["env"]
    for name in sorted(set(a) | set(b) | OURS):
        if name in PLACES or name == "TORCHELASTIC_RUN_ID":
            if (name in a) != (name in b):
                wrong.append(f"{name} is only on one side")
        elif name in OURS:
            if name in a or name not in b:
                wrong.append(f"{name} is not muster's alone")
        elif a.get(name) != b.get(name):
            wrong.append(f"{name}: torchrun {a.get(name)!r}, muster {b.get(name)!r}")
    if theirs["argv"] != ours["argv"]:
        wrong.append(f"arguments: torchrun {theirs['argv']}, muster {ours['argv']}")
    return wrong


def places(worker, rank):
    """The variables that differ by run have torchrun's form."""
    env = worker["env"]
    wrong = []
    if env["TORCHELASTIC_RUN_ID"] != "job7":
        wrong.append(f"TORCHELASTIC_RUN_ID is {env['TORCHELASTIC_RUN_ID']}")
    if not re.search(rf"/logs/job7_\w{{8}}/attempt_0/{rank}/error\.json$", env["TORCHELASTIC_ERROR_FILE"]):
        wrong.append(f"TORCHELASTIC_ERROR_FILE is {env['TORCHELASTIC_ERROR_FILE']}")
    if not env["MASTER_PORT"].isdigit() or env["MASTER_PORT"] == "0":
        wrong.append(f"MASTER_PORT is {env['MASTER_PORT']}")
    return wrong


def main():
    found = {}
    for launcher in LAUNCHERS:
        with scratch() as folder:
            found[launcher] = workers_of(launcher, folder)
            for worker in found[launcher]:
                worker["env"] = {name: value.replace(folder, "FOLDER") for name, value in worker["env"].items()}
    wrong = []
    for rank in (0, 1):
        theirs, ours = (found[launcher][rank] for launcher in LAUNCHERS)
        wrong += [f"rank {rank}: {text}" for text in differences(theirs, ours) + places(ours, rank)]
    print(*wrong or [f"{len(found['muster run'][0]['env'])} variables and {len(ARGUMENTS)} arguments alike"], sep="\n")
    return 1 if wrong else 0


sys.exit(main())
