# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed with ZeRO stage 2: optimizer state and gradients sharded over the ranks.

    torchrun --nproc-per-node=2 deepspeed_zero2.py
"""
import deepspeed
import torch
import torch.distributed as dist

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 2},
    "zero_allow_untested_optimizer": True,
    "steps_per_print": 1_000_000,
}


def main():
    # Its own shared-memory collectives would be compiled first, which takes a minute; gloo does.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.manual_seed(9)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    rank, world = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(1)
    for step in range(6):
        inputs = torch.randn(8 * world, 32, generator=generator)
        targets = inputs[:, :4].argmax(1)
        part = slice(8 * rank, 8 * rank + 8)
        loss = torch.nn.functional.cross_entropy(engine(inputs[part]), targets[part])
        engine.backward(loss)
        engine.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step} loss {mean.item() / world:.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
