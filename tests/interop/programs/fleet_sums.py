# SPDX-License-Identifier: Apache-2.0
"""Sums over all ranks by gloo until the file `finish` is in the folder; a worker of node N fails where it finds `fail-N`."""

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

folder, node = sys.argv[1], os.environ["FLEET_NODE"]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
first = True
while True:
    finish = os.path.exists(os.path.join(folder, "finish"))
    values = torch.tensor([1.0, float(finish)])
    dist.all_reduce(values)
    assert values[0].item() == size
    if first:
        print(f"node {node}: rank {rank} of {size} at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']} "
              f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)
    first = False
    if values[1].item() > 0:
        break
    order = os.path.join(folder, f"fail-{node}")
    if os.environ["LOCAL_RANK"] == "0" and os.path.exists(order):
        os.unlink(order)
        os._exit(7)
    time.sleep(0.05)
dist.barrier()
dist.destroy_process_group()
