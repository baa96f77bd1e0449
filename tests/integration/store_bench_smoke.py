#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store_bench runs, without its peers: every case gives a figure, and idle connections stay small."""

import json
import os

from muster_case import BIN_DIR, binary, run, skip

if not os.path.exists(os.path.join(BIN_DIR, "store_bench")):
    skip("this build has no benches (MUSTER_BENCH=OFF)")
status, output = run([binary("store_bench"), "--json", "--quick", "--rounds", "1", "--ms", "20", "--no-peers"], seconds=100)
assert status == 0, output
figures = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
assert {figure["case"] for figure in figures} == {"get", "set", "add", "compare_set", "multi_get", "wait_wake", "idle"}, output
assert all(figure["per_second"] > 0 for figure in figures if figure["case"] != "idle")
