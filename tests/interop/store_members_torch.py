#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own TCPStore client against the store of a round: from a host of the job it works without --open-store, from another it is closed."""

import sys

from held_job import HeldJob
from muster_case import Hosts, run, torch_program

CLIENT = """
import datetime, sys
import torch.distributed as dist
store = dist.TCPStore(sys.argv[1], int(sys.argv[2]), is_master=False, wait_for_workers=False, timeout=datetime.timedelta(seconds=3))
print("added", store.add("asked", 1))
"""


def main():
    python = torch_program()
    with Hosts(3) as hosts, HeldJob(hosts, "10.77.0.1:29400") as job:
        for number, host in enumerate(("h1", "h2"), 1):
            status, output = run(hosts.command(host, python, "-c", CLIENT, *job.master), 120)
            assert status == 0 and f"added {number}" in output, output
        status, output = run(hosts.command("h3", python, "-c", CLIENT, *job.master), 120)
        assert status != 0 and "added" not in output, output
        job.nodes[0].wait_for_output("10.77.0.3.* it is no member's address")


main()
sys.exit(0)
