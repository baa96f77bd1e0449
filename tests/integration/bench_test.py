# SPDX-License-Identifier: Apache-2.0
"""A smoke run of scripts/bench: each group of figures can be measured here, and each figure is a line of JSON."""

import json
import os

from muster_case import BIN_DIR, SOURCE_DIR, run

bench = os.path.join(SOURCE_DIR, "scripts", "bench")
status, output = run([bench, "--json", "--reps", "1", "--no-peers"], seconds=170, extra_env={"MUSTER_BIN_DIR": BIN_DIR})
print(output)
assert status == 0, status
figures = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
assert {"cpu", "cores", "kernel"} <= set(figures[0]["machine"]), figures[0]
for group in ("launch", "memory", "restart", "store"):
    assert any(figure.get("name", "").startswith(group) and figure["value"] > 0 for figure in figures), group
