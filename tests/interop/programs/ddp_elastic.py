# SPDX-License-Identifier: Apache-2.0
"""DDP that saves after every few steps and goes on from there, as elastic training is written in PyTorch's own examples.

    torchrun --nnodes=1:3 --max-restarts=3 ... ddp_elastic.py --checkpoint FILE --until FILE

It trains until the second file exists. The samples of a step are the same in every world.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

BATCH, SAVE_EVERY = 24, 5


def batch_of(step, rank, world):
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, 64, generator=generator)
    return inputs[rank::world], inputs.sum(1, keepdim=True)[rank::world]


def save(path, step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".new")
    os.replace(path + ".new", path)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--checkpoint", required=True)
    options.add_argument("--until", required=True)
    args = options.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    if os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    parallel = DistributedDataParallel(model)
    attempt, number = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ.get("MUSTER_ROUND", "0")
    print(f"begins at {step} as {rank} of {world} in round {number}, restart {attempt}, process {os.getpid()}", flush=True)
    while True:
        inputs, targets = batch_of(step, rank, world)
        loss = nn.functional.mse_loss(parallel(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        report = torch.tensor([loss.item() * len(inputs), float(rank == 0 and os.path.exists(args.until))])
        dist.all_reduce(report)
        if rank == 0 and step % SAVE_EVERY == 0:
            save(args.checkpoint, step, model, optimizer)
            print(f"saved {step} in a world of {world} in round {number}, loss {report[0].item() / BATCH:.6f}", flush=True)
        if report[1] > 0:
            break
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print(f"finished at {step} in a world of {world}", flush=True)


if __name__ == "__main__":
    main()
