# SPDX-License-Identifier: Apache-2.0
"""One sum over all ranks by gloo."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print(f"sum {total.item():g} of {dist.get_world_size()} ranks", flush=True)
dist.destroy_process_group()
