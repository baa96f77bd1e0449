# SPDX-License-Identifier: Apache-2.0
"""DDP over a TensorDataset: a wide perceptron fitted to random targets, as many first scripts do it.

    torchrun --nproc-per-node=4 ddp_regression.py --steps 8
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def make_dataset():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(10_000, 1024, generator=generator)
    targets = torch.randn(10_000, 1, generator=generator)
    return TensorDataset(inputs, targets)


class Trainer:
    def __init__(self, model, loader, optimizer, local_rank):
        self.model = DistributedDataParallel(model)
        self.loader = loader
        self.optimizer = optimizer
        self.local_rank = local_rank

    def run(self, steps):
        for step, (inputs, targets) in enumerate(self.loader):
            if step == steps:
                break
            loss = nn.functional.mse_loss(self.model(inputs), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if dist.get_rank() == 0:
                print(f"step {step} loss {mean.item() / dist.get_world_size():.6f}", flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=8)
    options.add_argument("--batch-size", type=int, default=32)
    args = options.parse_args()

    dist.init_process_group(backend="gloo")
    torch.manual_seed(0)
    dataset = make_dataset()
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=False, sampler=DistributedSampler(dataset))
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    Trainer(model, loader, optimizer, int(os.environ["LOCAL_RANK"])).run(args.steps)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
