#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of the field's tutorials run unchanged under torchrun and under muster, with the same losses.

    real_scripts.py one    4 workers on one node
    real_scripts.py two    2 workers on each of two nodes
"""

import os
import sys
import time

from launchers import DIGITS, LAUNCHERS, PROGRAMS, TwoNodes, finish, one_node, results, scratch, unless_torch_aborts


def program(name, *arguments):
    return [os.path.join(PROGRAMS, name), *arguments]


def stages(folder):
    """(name, workers in all, program): in this order, the last one reads what the one before it wrote."""
    checkpoint = os.path.join(folder, "checkpoint")
    return [
        ("DDP on a TensorDataset", 4, program("ddp_regression.py")),
        ("DDP on digits", 4, program("ddp_digits.py", "--data", DIGITS, "--save", os.path.join(folder, "digits.pt"))),
        ("FSDP, saved by 4", 4, program("fsdp_checkpoint.py", "--checkpoint", checkpoint)),
        ("FSDP, loaded by 2", 2, program("fsdp_checkpoint.py", "--checkpoint", checkpoint, "--resume")),
    ]


def run_all(launcher, start):
    lines = {}
    with scratch() as folder:
        for name, workers, command in stages(folder):
            begin = time.monotonic()
            codes, output = unless_torch_aborts(lambda: start(launcher, workers, command))
            found = results(output)
            if any(codes) or not found:
                print(output)
                raise SystemExit(f"FAILED: {name} under {launcher}: exit codes {codes}, {len(found)} lines of results")
            print(f"{launcher:10} {name:24} {time.monotonic() - begin:5.1f} s  {found[-1]}", flush=True)
            lines[name] = found
    return lines


def compare(start):
    by_launcher = {launcher: run_all(launcher, start) for launcher in LAUNCHERS}
    wrong = [name for name, lines in by_launcher["torchrun"].items() if by_launcher["muster run"][name] != lines]
    for name in wrong:
        for launcher in LAUNCHERS:
            print(f"{name} under {launcher}:", *by_launcher[launcher][name], sep="\n  ")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["one"]:
        return compare(lambda launcher, workers, command: one_node(launcher, [f"--nproc-per-node={workers}"], command))
    with TwoNodes() as nodes:
        return compare(lambda launcher, workers, command: finish(
            nodes.start(launcher, [f"--nproc-per-node={workers // 2}"], command), 120))


sys.exit(main())
