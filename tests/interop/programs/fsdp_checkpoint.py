# SPDX-License-Identifier: Apache-2.0
"""FSDP2 of a deep perceptron, saved and loaded with torch.distributed.checkpoint by any number of ranks.

    torchrun --nproc-per-node=4 fsdp_checkpoint.py --checkpoint FOLDER
    torchrun --nproc-per-node=2 fsdp_checkpoint.py --checkpoint FOLDER --resume
"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS = 128, 8


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def sharded_model(mesh):
    torch.manual_seed(5)
    model = Perceptron()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def batch_of(step, rank, world):
    """A rank's part of the step's 32 samples: the same samples, however many ranks there are."""
    generator = torch.Generator().manual_seed(100 + step)
    inputs = torch.randn(32, WIDTH, generator=generator)
    return inputs.chunk(world)[rank], inputs.roll(1, dims=1).chunk(world)[rank]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--checkpoint", required=True)
    options.add_argument("--resume", action="store_true")
    options.add_argument("--steps", type=int, default=5)
    args = options.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = sharded_model(init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first = 0
    if args.resume:
        weights, state = get_state_dict(model, optimizer)
        state_dict = {"model": weights, "optimizer": state, "step": 0}
        dcp.load(state_dict, checkpoint_id=args.checkpoint)
        set_state_dict(model, optimizer, model_state_dict=state_dict["model"], optim_state_dict=state_dict["optimizer"])
        first = state_dict["step"]
    for step in range(first, first + args.steps):
        inputs, targets = batch_of(step, rank, world)
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step} loss {mean.item() / world:.6f}", flush=True)
    if not args.resume:
        weights, state = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": state, "step": first + args.steps}, checkpoint_id=args.checkpoint)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
