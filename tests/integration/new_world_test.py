# SPDX-License-Identifier: Apache-2.0
"""Two hosts, every event that may befall them: each is followed by a new world (tests/labs/bench/torchrun_hosts.sh).

torchrun 2.13 beside it: a second host never joins, the silent loss of one is never noticed, and takes 43 s once a worker fails.
"""

import os
import re
import subprocess

from muster_case import SOURCE_DIR, Hosts, binary

WAIT = 20
# What happens, how often, and the size of the world that follows; two workers a host.
EVENTS = {
    "start of 2 hosts": (3, 4),
    "start with 1 host of 1:2": (1, 2),
    "second host joins": (1, 4),
    "SIGTERM of the second agent, first host goes on": (1, 2),
    "power loss of a host alone": (1, 2),
    "power loss, a worker failing 1 s later": (1, 2),
}


def main():
    with Hosts(1):  # skips where they are refused
        pass
    environment = {**os.environ, "NETHOSTS_LAB": f"w{os.getpid() % 100000}", "LAUNCHER": f"{binary('muster')} run", "WAIT": str(WAIT)}
    script = os.path.join(SOURCE_DIR, "tests", "labs", "bench", "torchrun_hosts.sh")
    done = subprocess.run([script], env=environment, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=200)
    print(done.stdout, flush=True)
    assert done.returncode == 0, done.returncode
    for event, (times, size) in EVENTS.items():
        found = re.findall(rf"^{re.escape(event)}: [\d.]+ s \(world size (\d+)\)$", done.stdout, re.M)
        assert found == [str(size)] * times, f"{event}: worlds of {found}, wanted {times} of {size}"


main()
