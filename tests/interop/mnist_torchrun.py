#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mnist_ddp without muster's agent: under PyTorch's own torchrun it gives the same bits."""

import re

from muster_case import binary, run, torch_program

MNIST = [binary("mnist_ddp"), "--digest", "--epochs", "2"]


def digest(command):
    status, output = run(command, seconds=100)
    assert status == 0, output
    return re.search(r"^parameters fnv ([0-9a-f]{16})$", output, re.M).group(1)


torchrun = [torch_program("torchrun"), "--standalone", "--nproc-per-node=2", "--no-python"]
assert digest([*torchrun, *MNIST]) == digest([*MNIST, "--simulate-world", "2"])
