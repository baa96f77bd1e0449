# SPDX-License-Identifier: Apache-2.0
"""Smoke runs of scripts/bench: every group gives its figures here, a line of JSON each. Usage: bench_test.py one_node|round|agents|detect|hosts

What the figures are is not judged: that is for a quiet machine.
"""

import json
import os
import subprocess
import sys

from muster_case import BIN_DIR, SOURCE_DIR, Hosts, skip

GROUPS = {
    "one_node": (["launch", "memory", "restart", "store"], ["launch 1 workers: muster", "memory: guardian", "restart: muster, median", "store: "]),
    "round": (["round"], ["round: 16 agents, first_round", "round: 64 agents, round_after_a_loss", "round: 16 agents, bytes_to_join"]),
    "agents": (["agents"], ["agents: 8 of muster"]),
    "detect": (["detect"], ["detect: worker exit to all nodes told: p99", "detect: worker exit to new workers: p99",
                            "detect: SIGKILL of an agent to new workers: p99", "detect: SIGKILL of the host's agent to new workers: p99"]),
    "hosts": (["detect_hosts"], ["detect: silent node to new workers: p99", "detect: silent node, dead=2, to new workers: p99",
                                 "detect: power loss of the host's node to new workers: p99"]),
}
NEEDS = {"one_node": "store_bench", "round": "round_bench", "detect": "stamp_worker", "hosts": "stamp_worker"}


def figures_of(groups):
    """The figures of a smoke run; the groups' bars do not count."""
    command = [os.path.join(SOURCE_DIR, "scripts", "bench"), "--json", "--reps", "1", "--no-peers", *groups]
    if "detect_hosts" in groups:
        command += ["--trials", "1"]  # each takes seconds
    done = subprocess.run(command, env={**os.environ, "MUSTER_BIN_DIR": BIN_DIR}, check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=170)
    print(done.stdout, done.stderr, sep="\n", flush=True)
    assert done.returncode == 0, done.returncode
    lines = [json.loads(line) for line in done.stdout.splitlines()]  # and nothing that is no JSON
    assert {"cpu", "cores", "kernel"} <= set(lines[0]["machine"]), lines[0]
    return lines[1:]


def main():
    name = sys.argv[1]
    groups, wanted = GROUPS[name]
    if name in NEEDS and not os.path.exists(os.path.join(BIN_DIR, NEEDS[name])):
        skip("this build has no benches (MUSTER_BENCH=OFF)")
    if name == "hosts":
        with Hosts(1):  # skips where they are refused
            pass
    figures = figures_of(groups)
    for start in wanted:
        assert any(figure["name"].startswith(start) and figure["value"] > 0 for figure in figures), start
    for figure in figures:
        assert {"name", "value", "unit", "n"} <= set(figure), figure
        assert "hung" not in figure["name"] and "failed" not in figure["name"], figure
        if "quantiles" in figure:
            assert list(figure["quantiles"]) == ["min", "p50", "p90", "p99", "max"], figure
            assert sum(count for _, _, count in figure["histogram"]) == figure["n"], figure


main()
