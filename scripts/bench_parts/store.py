# SPDX-License-Identifier: Apache-2.0
"""store: musterd as PyTorch's store, beside PyTorch's own server and Redis."""

import json
import subprocess

from bench_parts.programs import program


def store(figures, options):
    """Ratios of requests a second, from store_bench's lines; where there are peers and more than a smoke run is wanted, all cases."""
    figures.title("store: requests a second, musterd beside its peers")
    command = [program("store_bench"), "--json"] + (["--quick", "--rounds", "1", "--ms", "50"] if options.reps == 1 else [])
    if not options.peers:
        command.append("--no-peers")
    done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(command)}: {done.stderr}")
    for line in filter(None, done.stdout.splitlines()):
        each = json.loads(line)
        if "resident_mib" in each:
            figures.add(f"store: {each['connections']} idle connections", each["resident_mib"] * 1.048576, "MB", 1, most=100)
            continue
        name = f"store: {each['case']}, {each['connections']} connections, depth {each['depth']}"
        if each["peer"] == "muster":
            figures.add(f"{name}: muster", each["per_second"], "/s", 1)
        elif options.peers:
            # One request at a time, 64 connections spend what the kernel's loopback costs, whoever serves them.
            piped = {64: 2.0 if each["peer"] == "tcpstore" else 1.0}
            bars = {1: 1.0, 64: 1.0} if each["depth"] == 1 else piped
            bar = {"least": bars[each["connections"]]} if each["connections"] in bars else {}
            figures.add(f"{name}: muster / {each['peer']}", each["muster_ratio"], "x", 1, **bar)
