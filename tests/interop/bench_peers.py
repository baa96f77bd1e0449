# SPDX-License-Identifier: Apache-2.0
"""A smoke run of scripts/bench beside torchrun: its own handlers meet, its agents run, and the ratios come out."""

import json
import os
import subprocess

from muster_case import BIN_DIR, SOURCE_DIR, skip, torch_program

torch_program("torchrun")
if not os.path.exists(os.path.join(BIN_DIR, "round_bench")):
    skip("this build has no benches (MUSTER_BENCH=OFF)")
command = [os.path.join(SOURCE_DIR, "scripts", "bench"), "--json", "--reps", "1", "round", "agents"]
done = subprocess.run(command, env={**os.environ, "MUSTER_BIN_DIR": BIN_DIR}, check=False, text=True, stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=230)
print(done.stdout, done.stderr, sep="\n", flush=True)
assert done.returncode == 0, done.returncode
figures = {line["name"]: line["value"] for line in map(json.loads, done.stdout.splitlines()[1:])}
assert 0 < figures["round: 16 agents, first_round: muster / torchrun"] < 1, figures
assert 0 < figures["agents: 8 of muster / 2 of torchrun"] < 1, figures
