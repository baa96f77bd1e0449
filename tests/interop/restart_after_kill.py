#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two agents of four gloo workers, one worker killed, --max-restarts=2: muster finishes at the first restart.

torchrun 2.13 is shown beside it and not judged: its new workers meet in the store of the attempt before, read the keys of
the dead, and time out until the budget is spent.
"""

import contextlib
import os
import re
import sys
import time

from launchers import PROGRAMS, TwoNodes, finish

OPTIONS = ["--nproc-per-node=4", "--max-restarts=2"]
PROGRAM = [os.path.join(PROGRAMS, "killed_once.py")]
PATIENCE_WITH_TORCHRUN_S = 60


def torchrun(nodes):
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        agents = [stack.enter_context(agent) for agent in nodes.start("torchrun", OPTIONS, PROGRAM)]
        end = begin + PATIENCE_WITH_TORCHRUN_S
        while any(agent.popen.poll() is None for agent in agents) and time.monotonic() < end:
            time.sleep(0.1)
        codes = [agent.popen.poll() for agent in agents]
        output = "".join(agent.output() for agent in agents)
    finished = re.findall(r"^finished in attempt \d", output, re.M)
    print(f"torchrun: {finished or 'not finished'} after {time.monotonic() - begin:.0f} s, exit codes {codes}", flush=True)


def main():
    with TwoNodes() as nodes:
        begin = time.monotonic()
        codes, output = finish(nodes.start("muster run", OPTIONS, PROGRAM), 150)
        finished = re.findall(r"^finished in attempt \d", output, re.M)
        print(f"muster:   {finished or 'not finished'} after {time.monotonic() - begin:.0f} s, exit codes {codes}", flush=True)
        if codes != [0, 0] or finished != ["finished in attempt 1"]:
            print(output)
            return 1
        torchrun(nodes)
    return 0


sys.exit(main())
