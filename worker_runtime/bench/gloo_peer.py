# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch's gloo, timed as collectives_bench times its own: SIZE_BYTES:ITERATIONS... on the command line.

Rank 0 prints a line `size seconds` per size: the slowest rank's mean time of an in-place all_reduce of float32.
"""

import os
import sys
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for item in sys.argv[1:]:
        size, iterations = (int(number) for number in item.split(":"))
        tensor = torch.zeros(max(1, size // 4))
        for _ in range(2):
            dist.all_reduce(tensor)
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(iterations):
            dist.all_reduce(tensor)
        mean = torch.tensor([(time.perf_counter() - begin) / iterations], dtype=torch.float64)
        dist.all_reduce(mean, op=dist.ReduceOp.MAX)
        if dist.get_rank() == 0:
            print(size, f"{mean.item():.9f}", flush=True)
    dist.barrier()


main()
