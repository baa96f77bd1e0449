# SPDX-License-Identifier: Apache-2.0
"""Where the programs are that are measured, and what tests/support lends: processes with logs, waits with a deadline, hosts."""

import os
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from muster_case import BIN_DIR, TORCH_DIR, Hosts, Process, wait_for  # noqa: E402, F401  (the parts take them from here)

MUSTER = os.path.join(BIN_DIR, "muster")
TORCHRUN = os.path.join(TORCH_DIR, "bin", "torchrun")
TORCH_PYTHON = os.path.join(TORCH_DIR, "bin", "python")
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def has_torch():
    return os.access(TORCHRUN, os.X_OK)


def program(name):
    path = os.path.join(BIN_DIR, name)
    if not os.access(path, os.X_OK):
        raise SystemExit(f"bench: {path} is not there: scripts/build makes it (with MUSTER_BENCH=ON, the default)")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    """Whether somebody on this machine listens at the TCP port, by IPv4."""
    wanted = f":{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        return any(fields[1].endswith(wanted) and fields[3] == "0A" for fields in map(str.split, list(file)[1:]))
