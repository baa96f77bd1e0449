# SPDX-License-Identifier: Apache-2.0
"""A Hugging Face Trainer on a tiny GPT-2 with random weights.

    torchrun --nproc-per-node=2 hf_trainer.py --output FOLDER
"""
import argparse

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Sequences(Dataset):
    def __init__(self, count=64, length=16, words=97):
        steps = torch.arange(length) * 3
        self.tokens = (torch.arange(count)[:, None] + steps) % words

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class PrintLoss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **others):
        if state.is_world_process_zero and "loss" in (logs or {}):
            print(f"step {state.global_step} loss {float(logs['loss']):.4f}", flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--output", required=True)
    args = options.parse_args()
    set_seed(11)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    arguments = TrainingArguments(output_dir=args.output, use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=4,
                                  max_steps=6, logging_steps=2, save_strategy="no", report_to=[], disable_tqdm=True, seed=11)
    Trainer(model=model, args=arguments, train_dataset=Sequences(), callbacks=[PrintLoss()]).train()
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
