#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two torchrun agents meet at musterd (--rdzv-backend=c10d), and their four gloo workers compute; then another job does, at the same daemon."""

import os
import sys
import tempfile

from muster_case import Process, binary, torch_program

WORKER = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.ones(1)
dist.all_reduce(value)
print(f"rank {dist.get_rank()} of {dist.get_world_size()} sum {int(value[0])}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def agent(port, script, run_id):
    return Process([torch_program("torchrun"), "--nnodes=2", "--nproc-per-node=2", "--max-restarts=2", "--rdzv-backend=c10d",
                    f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id={run_id}", "--local-addr=127.0.0.1", script],
                   extra_env={"OMP_NUM_THREADS": "1"})


def meet(port, script, run_id):
    with agent(port, script, run_id) as one, agent(port, script, run_id) as two:
        assert one.wait(150) == 0, one.output() + two.output()
        assert two.wait(60) == 0, one.output() + two.output()
        output = one.output() + two.output()
    for rank in range(4):
        assert f"rank {rank} of 4 sum 4" in output, output


def main():
    torch_program("torchrun")
    with tempfile.TemporaryDirectory() as folder, Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as daemon:
        port = int(daemon.wait_for_output(r"listening on .*:(\d+)$").group(1))
        script = os.path.join(folder, "worker.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(WORKER)
        print("two agents form a world of four", flush=True)
        meet(port, script, "first")
        meet(port, script, "second")
        assert len(daemon.output().splitlines()) == 1, daemon.output()


main()
sys.exit(0)
