# SPDX-License-Identifier: Apache-2.0
"""with_torch.py SCRIPT ARGS...: runs a Python program under the interpreter that has PyTorch, or skips where there is none."""

import os
import sys

from muster_case import torch_program

python = torch_program()
os.execv(python, [python, "-B", *sys.argv[1:]])
