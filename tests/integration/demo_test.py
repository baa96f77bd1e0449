# SPDX-License-Identifier: Apache-2.0
"""The main job, as scripts/demo runs it: a rank is killed in epoch 4, and all that the demo promises is so."""

import os

from muster_case import BIN_DIR, SOURCE_DIR, run

status, output = run(["python3", "-B", os.path.join(SOURCE_DIR, "scripts", "demo_run.py")], seconds=110, extra_env={"MUSTER_BIN_DIR": BIN_DIR})
print(output)
assert status == 0, status
assert "WRONG" not in output
