#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""muster's sampler against torch's DistributedSampler, row for row. `--record` prints the golden numbers of sampler_test.cpp."""

import os
import subprocess
import sys

TESTS = os.environ.get("MUSTER_TEST_DIR", "")


def torch_rows(size, replicas, rank, seed, shuffle, drop_last, epoch):
    from torch.utils.data.distributed import DistributedSampler
    sampler = DistributedSampler(range(size), replicas, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
    sampler.set_epoch(epoch)
    return list(sampler)


def fnv(numbers):
    value = 0xCBF29CE484222325
    for number in numbers:
        for byte in (number % 2**64).to_bytes(8, "little"):
            value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def record():
    for size in (1, 2, 7, 10, 13):
        for replicas in (1, 2, 3, 4):
            for shuffle in (True, False):
                for drop_last in (True, False):
                    rows = []
                    for rank in range(replicas):
                        for epoch in (0, 1, 5):
                            rows += [*torch_rows(size, replicas, rank, 11, shuffle, drop_last, epoch), -1]
                    print(f"    {{{size}, {replicas}, {str(shuffle).lower()}, {str(drop_last).lower()}, {hex(fnv(rows))}ULL}},")


def compare():
    cases = [(size, replicas, rank, seed, shuffle, drop_last, epoch)
             for size in (1, 3, 10, 1000, 60000) for replicas in (1, 3, 8) for rank in {0, replicas - 1}
             for seed, epoch in ((0, 0), (7, 4), (2**32 + 5, 1)) for shuffle in (True, False) for drop_last in (True, False)]
    lines = "\n".join(" ".join(str(int(value)) for value in case) for case in cases)
    printed = subprocess.run([os.path.join(TESTS, "sampler_print")], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    rows = [[int(row) for row in line.split()] for line in printed.stdout.splitlines()]
    assert len(rows) == len(cases), (len(rows), len(cases))
    for case, ours in zip(cases, rows):
        assert ours == torch_rows(*case), case
    print(f"{len(cases)} cases equal to torch's")


if "--record" in sys.argv:
    record()
elif "--compare" in sys.argv:
    compare()
else:
    from muster_case import run, torch_program
    status, output = run([torch_program(), "-B", __file__, "--compare"], seconds=100)
    print(output, end="")
    sys.exit(1 if status else 0)
