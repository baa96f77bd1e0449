#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch computes for the cases of tests/unit/{nn,optim}/golden_test.cpp: tests/golden/training.json.

    record_training.py            writes the file
    record_training.py --check    records again and compares with the file

Inputs are made by the SplitMix64 generator of tests/support/random_floats.hpp, so only results are kept, of large tensors every 97th.
"""

import json
import os
import sys

import numpy
import torch

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.json")
STRIDE = 97


def random_floats(count, seed, scale=1.0):
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(seed) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    unit = ((z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53).astype(numpy.float32)
    one, two = numpy.float32(1), numpy.float32(2)
    return torch.from_numpy(numpy.float32(scale) * (two * unit - one))


def numbers(tensor, stride=1):
    return [float(f"{value:.9g}") for value in tensor.detach().reshape(-1)[::stride].tolist()]


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    scales = {"0.weight": 1 / 28, "0.bias": 1 / 28, "2.weight": 1 / 16, "2.bias": 1 / 16}
    with torch.no_grad():
        for seed, (name, parameter) in enumerate(model.named_parameters()):
            parameter.copy_(random_floats(parameter.numel(), 10 + seed, scales[name]).reshape(parameter.shape))
    return model


def batch(seed):
    return random_floats(64 * 784, seed).reshape(64, 784), torch.arange(64) * 7 % 10


def forward_backward():
    """Sums over the batch, as muster's losses are."""
    model = mlp()
    x, labels = batch(1)
    logits = model(x)
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    loss.backward()
    return {"loss": loss.item(), "logits": numbers(logits),
            "gradients": {name: numbers(parameter.grad, STRIDE) for name, parameter in model.named_parameters()}}


def activation(approximate):
    x = random_floats(257, 2, 6.0).requires_grad_()
    y = torch.nn.functional.gelu(x, approximate=approximate)
    y.backward(random_floats(257, 3))
    return {"y": numbers(y), "dx": numbers(x.grad)}


def mean_squared_error():
    x = random_floats(120, 4, 3.0).requires_grad_()
    loss = torch.nn.functional.mse_loss(x, random_floats(120, 5, 3.0))
    loss.backward()
    return {"loss": loss.item(), "dx": numbers(x.grad)}


def optimizer_alone(make):
    """20 steps on given gradients: nothing but the optimizer's arithmetic."""
    value = torch.nn.Parameter(random_floats(257, 6))
    optimizer = make([value])
    for step in range(20):
        value.grad = random_floats(257, 100 + step)
        optimizer.step()
    return numbers(value)


def training(make):
    """20 steps of the whole MLP on mean losses."""
    model = mlp()
    optimizer = make([{"params": [p for n, p in model.named_parameters() if n.endswith("weight")]},
                      {"params": [p for n, p in model.named_parameters() if n.endswith("bias")], "weight_decay": 0.0}])
    losses = []
    for step in range(20):
        x, labels = batch(200 + step)
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(f"{loss.item():.9g}"))
    return {"losses": losses, "values": {name: numbers(parameter, STRIDE) for name, parameter in model.named_parameters()}}


def clipped():
    values = [torch.nn.Parameter(torch.zeros(257)), torch.nn.Parameter(torch.zeros(31))]
    for seed, value in enumerate(values):
        value.grad = random_floats(value.numel(), 7 + seed)
    norm = torch.nn.utils.clip_grad_norm_(values, 1.5)
    return {"norm": float(norm), "gradients": [numbers(value.grad) for value in values]}


def record():
    torch.set_num_threads(1)
    optim = torch.optim
    return {
        "mlp": forward_backward(),
        "gelu": activation("none"),
        "gelu_tanh": activation("tanh"),
        "mean_squared_error": mean_squared_error(),
        "optimizers": {
            "sgd": optimizer_alone(lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01)),
            "sgd_momentum": optimizer_alone(lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01)),
            "sgd_nesterov": optimizer_alone(lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True)),
            "adamw": optimizer_alone(lambda p: optim.AdamW(p, lr=1e-2, weight_decay=0.1)),
            "adam": optimizer_alone(lambda p: optim.Adam(p, lr=1e-2, weight_decay=0.1)),
        },
        "train_sgd": training(lambda groups: optim.SGD(groups, lr=0.05, momentum=0.9, weight_decay=0.01)),
        "train_adamw": training(lambda groups: optim.AdamW(groups, lr=1e-3, weight_decay=0.1)),
        "clip_grad_norm": clipped(),
    }


def differences(old, new, path=""):
    if isinstance(new, dict):
        return [line for key in new for line in differences(old.get(key, {}), new[key], f"{path}/{key}")]
    if isinstance(new, list):
        if len(old) != len(new):
            return [f"{path}: {len(old)} numbers in the file, {len(new)} now"]
        return [line for i, (a, b) in enumerate(zip(old, new)) for line in differences(a, b, f"{path}[{i}]")]
    # Other CPUs and torch versions round otherwise; within the tolerance of the tests that read the file.
    return [] if isinstance(old, (int, float)) and abs(old - new) <= 1e-5 * max(1.0, abs(new)) else [f"{path}: {old} in the file, {new} now"]


def main():
    now = record()
    if sys.argv[1:] != ["--check"]:
        with open(PATH, "w", encoding="utf-8") as file:
            json.dump(now, file, separators=(",", ":"))
            file.write("\n")
        print(f"{PATH}: {os.path.getsize(PATH)} bytes from PyTorch {torch.__version__}")
        return 0
    with open(PATH, encoding="utf-8") as file:
        lines = differences(json.load(file), now)
    print("\n".join(lines[:20]) or f"PyTorch {torch.__version__} computes what the file says")
    return 1 if lines else 0


sys.exit(main())
