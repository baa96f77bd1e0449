#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""field_libraries.py LIBRARY: Hugging Face Trainer, Accelerate or DeepSpeed ZeRO-2 trains a tiny model with the same losses under
torchrun and muster."""

import os
import subprocess
import sys
import time

from launchers import LAUNCHERS, PROGRAMS, one_node, results, scratch, unless_torch_aborts
from muster_case import skip, torch_program

os.environ.update(DS_ACCELERATOR="cpu", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")


def programs(folder):
    return {
        "transformers": ["hf_trainer.py", "--output", os.path.join(folder, "trainer")],
        "accelerate": ["accelerate_loop.py"],
        "deepspeed": ["deepspeed_zero2.py"],
    }


def is_installed(library):
    find = f"import importlib.util as u, sys; sys.exit(u.find_spec('{library}') is None)"
    return subprocess.run([torch_program(), "-c", find], check=False).returncode == 0


def main(library):
    failures = 0
    if not is_installed(library):
        skip(f"{library} is not installed (scripts/setup --with-peers)")
    with scratch() as folder:
        name, *arguments = programs(folder)[library]
        program = [os.path.join(PROGRAMS, name), *arguments]
        seen = {}
        for launcher in LAUNCHERS:
            begin = time.monotonic()
            codes, output = unless_torch_aborts(lambda: one_node(launcher, ["--nproc-per-node=2"], program))
            seen[launcher] = results(output)
            print(f"{launcher:10} {library:12} {time.monotonic() - begin:5.1f} s  {seen[launcher][-1:]}", flush=True)
            if any(codes) or not seen[launcher]:
                print(output)
                failures += 1
        if seen["torchrun"] != seen["muster run"]:
            print(f"{library}: results differ: {seen}")
            failures += 1
    return 1 if failures else 0


sys.exit(main(sys.argv[1]))
