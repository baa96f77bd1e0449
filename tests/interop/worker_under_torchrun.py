#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that uses libmuster_worker runs under the installed PyTorch's torchrun: from the environment, with a tcp:// URL of its
own although torchrun has set up a store, and through a restart, where torchrun's store still holds the keys of the first attempt."""

import os
import re
import socket

from muster_case import run, torch_program

TORCHRUN = torch_program("torchrun")
WORKER = os.path.join(os.environ["MUSTER_TEST_DIR"], "reduce_worker")
RANKS = 3


def torchrun(*arguments, options=()):
    command = [TORCHRUN, "--standalone", f"--nproc-per-node={RANKS}", *options, "--no-python", WORKER, *arguments]
    return run(command, seconds=100, extra_env={"OMP_NUM_THREADS": "1"})


def check(what, status, output, restart=0):
    done = set(re.findall(r"rank (\d) of 3, restart (\d): sums have the tree's bits", output))
    if status != 0 or done != {(str(rank), str(restart)) for rank in range(RANKS)}:
        raise SystemExit(f"{what}: status {status}, done {sorted(done)}\n{output}")
    print(f"{what}: ok")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


check("env:// under torchrun", *torchrun())
check("tcp:// under torchrun", *torchrun(f"tcp://127.0.0.1:{free_port()}"))
check("a rank killed, one restart", *torchrun("--die-once", options=["--max-restarts=1"]), restart=1)
