#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of mnist_ddp loaded by PyTorch: strict names and shapes, the same test accuracy, optimizer moments; by the safetensors
package and torch.distributed.checkpoint too, where that package is installed."""

import glob
import gzip
import json
import os
import re
import struct
import sys
import tempfile
import zlib

SOURCE_DIR = os.environ.get("MUSTER_SOURCE_DIR", ".")


def read_safetensors(path):
    """The format by hand, so that no package is needed: an 8-byte length, a JSON header, bytes."""
    import torch
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    kinds = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=kinds[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def idx(name, skip):
    import torch
    with gzip.open(f"{SOURCE_DIR}/tests/data/mnist10k/{name}.gz") as file:
        return torch.frombuffer(bytearray(file.read()[skip:]), dtype=torch.uint8)


def check(step, accuracy):
    import torch
    with open(f"{step}/manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["files"]:
        with open(f"{step}/{entry['name']}", "rb") as file:
            data = file.read()
        assert len(data) == entry["bytes"] and zlib.crc32(data) == entry["crc32"], entry
    [model_file] = glob.glob(f"{step}/*-model-*.safetensors")
    [optim_file] = glob.glob(f"{step}/*-optim-*.safetensors")
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    model.load_state_dict(read_safetensors(model_file), strict=True)
    images = idx("t10k-images-idx3-ubyte", 16).reshape(-1, 784).float() / 255
    labels = idx("t10k-labels-idx1-ubyte", 8).long()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item() * 100
    assert abs(right - accuracy) < 0.2, (right, accuracy)  # a tie may fall to either side
    check_with_packages(model_file, model)
    moments = read_safetensors(optim_file)
    adam = torch.optim.Adam(model.parameters())
    sum(parameter.sum() for parameter in model.parameters()).backward()
    adam.step()
    for name, parameter in model.named_parameters():
        for kind in ("exp_avg", "exp_avg_sq"):
            assert moments.pop(f"{name}.{kind}").shape == adam.state[parameter][kind].shape, (name, kind)
    assert not moments, moments.keys()
    print(f"loaded by torch: {right:.2f} % of the test digits, muster said {accuracy:.2f} %")


def check_with_packages(path, model):
    import torch
    try:
        from safetensors.torch import load_file
    except ImportError:
        print("not compared with the safetensors package: it is not installed")
        return
    for name, tensor in load_file(path).items():
        assert torch.equal(tensor, model.state_dict()[name]), name
    from torch.distributed.checkpoint import HuggingFaceStorageReader, load
    fresh = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
        load(fresh, storage_reader=HuggingFaceStorageReader(folder), no_dist=True)
    for name, tensor in fresh.items():
        assert torch.equal(tensor, model.state_dict()[name]), name
    print("read by the safetensors package and by torch.distributed.checkpoint")


if len(sys.argv) == 3:
    check(sys.argv[1], float(sys.argv[2]))
else:
    from muster_case import binary, run, torch_program
    python = torch_program()
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        status, output = run([binary("mnist_ddp"), "--epochs", "2", "--checkpoint", folder])
        assert status == 0, output
        accuracy = re.search(r"test accuracy ([\d.]+) %$", output.rstrip()).group(1)
        status, output = run([python, "-B", __file__, max(glob.glob(f"{folder}/step-*")), accuracy], seconds=100)
    print(output, end="")
    sys.exit(1 if status else 0)
