# SPDX-License-Identifier: Apache-2.0
"""All-reduces in a loop; in the job's first attempt one rank is killed in the middle of it."""
import datetime
import os
import signal

import torch
import torch.distributed as dist

VICTIM, STEP, STEPS = 5, 3, 6

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
for step in range(STEPS):
    if attempt == 0 and step == STEP and dist.get_rank() == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    value = torch.ones(1000) * dist.get_rank()
    dist.all_reduce(value)
    assert value[0].item() == sum(range(dist.get_world_size()))
if dist.get_rank() == 0:
    print(f"finished in attempt {attempt}", flush=True)
dist.barrier()
dist.destroy_process_group()
