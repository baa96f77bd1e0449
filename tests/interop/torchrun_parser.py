#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed torchrun still has the options, and reads lines, as tests/golden says, which the unit tests hold muster's parser against."""

import os
import sys

from muster_case import SOURCE_DIR, run, torch_program

status, output = run([torch_program(), "-B", os.path.join(SOURCE_DIR, "tests/golden/record_torchrun_parser.py"), "--check"], seconds=110)
print(output, end="")
sys.exit(1 if status else 0)
