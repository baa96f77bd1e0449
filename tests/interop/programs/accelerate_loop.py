# SPDX-License-Identifier: Apache-2.0
"""A training loop in the manner of Accelerate: prepare, backward, gather.

    torchrun --nproc-per-node=2 accelerate_loop.py
"""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(3)
    inputs = torch.randn(256, 32)
    dataset = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        losses = []
        for batch, targets in loader:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()[None]))
        if accelerator.is_main_process:
            print(f"epoch {epoch} loss {torch.cat(losses).mean().item():.5f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
