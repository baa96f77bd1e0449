# SPDX-License-Identifier: Apache-2.0
"""round: N agents meet at one musterd over loopback (round_bench), beside torchrun's own handler where PyTorch is installed."""

import json
import os
import statistics
import subprocess

from bench_parts.figures import note
from bench_parts.programs import ROOT, TORCH_PYTHON, has_torch, program

SIZES = [16, 64, 128, 1024, 4096, 10000]
SMOKE_SIZES = [16, 64]
TORCHRUN_SIZES = [16, 64, 128]
SMOKE_TORCHRUN_SIZES = [16]
REPETITIONS = 5
MUSTER_SECONDS = 180  # round_bench itself gives up earlier; this is for one that hangs
TORCHRUN_SECONDS = 200
START_SECONDS = 60  # importing PyTorch
FIRST_ROUND_BARS = {1024: 1.0, 10000: 10.0}
GROWTH = (1024, 10000, 1.5)  # an agent of the second size costs at most so many times what one of the first does
GROWING = ["first_round", "round_after_a_loss"]


def measured(size):
    """What round_bench says in one run: {figure: (value, unit)}. None where the agents did not meet in its time."""
    command = [program("round_bench"), "--json", "--nodes", str(size)]
    try:
        done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=MUSTER_SECONDS)
    except subprocess.TimeoutExpired:
        note(f"{' '.join(command)} hung: not done in {MUSTER_SECONDS} s")
        return None
    if done.returncode != 0:
        note(f"{' '.join(command)} exited with {done.returncode}: {done.stderr.strip()}")
        return None
    lines = map(json.loads, filter(None, done.stdout.splitlines()))
    return {each["name"].split("/", 2)[2]: (each["value"], each["unit"]) for each in lines}


def medians_of(figures, size, count):
    """The figures of `count` runs with so many agents; their medians."""
    runs = [measured(size) for _ in range(count)]
    met = [run for run in runs if run]
    if len(met) < count:
        figures.add(f"round: {size} agents: runs that failed", count - len(met), "", count, most=0)
    medians = {figure: statistics.median(run[figure][0] for run in met) for figure in met[0]} if met else {}
    for figure, value in medians.items():
        bar = {"most": FIRST_ROUND_BARS[size]} if figure == "first_round" and size in FIRST_ROUND_BARS else {}
        figures.add(f"round: {size} agents, {figure}", value, met[0][figure][1], len(met), **bar)
    return medians


def torchrun_round(size):
    """Seconds until all of torchrun's handlers have their ranks; None where they did not get them."""
    script = os.path.join(ROOT, "rendezvous", "bench", "torchrun_round.py")
    command = [TORCH_PYTHON, "-B", script, str(size), str(TORCHRUN_SECONDS)]
    try:
        done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=START_SECONDS + TORCHRUN_SECONDS)
    except subprocess.TimeoutExpired:
        note(f"{' '.join(command)} hung: not done in {START_SECONDS + TORCHRUN_SECONDS} s")
        return None
    if done.returncode != 0:
        note(f"{' '.join(command)} exited with {done.returncode}: {done.stderr[-2000:]}")
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    if result["seconds"] is None:
        note(f"torchrun's handler: {result['holding']} of {size} hold a rank after {TORCHRUN_SECONDS} s")
    return result["seconds"]


def growth(figures, medians, count):
    """An agent's share of the time, at the one size and the other: 1 is linear."""
    small, large, most = GROWTH
    for figure in GROWING:
        if figure in medians.get(small, {}) and figure in medians.get(large, {}):
            ratio = medians[large][figure] / large / (medians[small][figure] / small)
            figures.add(f"round: {figure}, time an agent at {large} / at {small}", ratio, "x", count, most=most)


def rounds(figures, options):
    figures.title("the round: N agents and one musterd on loopback")
    smoke = options.reps == 1
    count = 1 if smoke else REPETITIONS
    medians = {size: medians_of(figures, size, count) for size in (SMOKE_SIZES if smoke else SIZES)}
    growth(figures, medians, count)
    if not (options.peers and has_torch()):
        return
    for size in SMOKE_TORCHRUN_SIZES if smoke else TORCHRUN_SIZES:
        theirs = torchrun_round(size)
        if theirs is None:
            continue
        figures.add(f"round: {size} agents, first_round: torchrun", theirs, "s", 1)
        if medians[size]:
            figures.add(f"round: {size} agents, first_round: muster / torchrun", medians[size]["first_round"] / theirs, "x", 1)
