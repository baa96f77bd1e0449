# SPDX-License-Identifier: Apache-2.0
"""DDP on handwritten digits: DistributedSampler with set_epoch, evaluation, and a checkpoint that rank 0 writes.

    torchrun --nproc-per-node=4 ddp_digits.py --data FOLDER_OF_IDX_FILES --save model.pt
"""
import argparse
import gzip
import hashlib
import os
import struct

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def read_idx(path):
    with gzip.open(path) as file:
        _, kind, dimensions = struct.unpack(">HBB", file.read(4))
        assert kind == 8, "bytes expected"
        shape = struct.unpack(">" + "I" * dimensions, file.read(4 * dimensions))
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).reshape(shape)


class Digits(Dataset):
    def __init__(self, folder, part):
        self.images = read_idx(os.path.join(folder, f"{part}-images-idx3-ubyte.gz")).float().div_(255).flatten(1)
        self.labels = read_idx(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


@torch.no_grad()
def accuracy(model, dataset):
    rank, world = dist.get_rank(), dist.get_world_size()
    images, labels = dataset.images[rank::world], dataset.labels[rank::world]
    counts = torch.tensor([(model(images).argmax(1) == labels).sum().item(), len(labels)])
    dist.all_reduce(counts)
    return 100.0 * counts[0].item() / counts[1].item()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--data", required=True)
    options.add_argument("--save", required=True)
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--batch-size", type=int, default=64)
    args = options.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(42)
    train, test = Digits(args.data, "train"), Digits(args.data, "t10k")
    sampler = DistributedSampler(train, shuffle=True, seed=3)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / len(loader) / dist.get_world_size():.6f}", flush=True)
    percent = accuracy(model, test)
    if rank == 0:
        torch.save(model.module.state_dict(), args.save)
        weights = torch.cat([p.detach().flatten() for p in model.module.parameters()])
        print(f"accuracy {percent:.2f} weights {hashlib.sha256(weights.numpy().tobytes()).hexdigest()[:16]}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
