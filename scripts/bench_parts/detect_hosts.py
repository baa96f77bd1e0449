# SPDX-License-Identifier: Apache-2.0
"""detect_hosts: three hosts in network namespaces, one of which falls silent or loses its power: time until the others go on."""

from bench_parts.detect import TRIAL_SECONDS, chance, pause, repeat, trials_of
from bench_parts.figures import note
from bench_parts.programs import Hosts
from bench_parts.stamped_job import StampedJob, boot_time

SLOW_TRIALS = 10  # each takes seconds
NAMES = ["h1", "h2", "h3"]  # h1 hosts the rendezvous


def lost(hosts, what, victims, *options):
    """From before the cut until the last of the other two hosts' new workers is up."""
    with StampedJob("--nnodes=2:3", *options, hosts=hosts) as job:
        up = job.start_all(NAMES)
        victim = chance.choice(victims)
        pause(1.0)
        begin = boot_time()
        done = hosts.call(what, victim)
        assert done.returncode == 0, f"nethosts.sh {what} {victim}: {done.stdout}"
        new = job.next_up(max(stamp.round for stamp in up), set(NAMES) - {victim}, TRIAL_SECONDS)
        return max(stamp.at for stamp in new) - begin


def detect_hosts(figures, options):
    figures.title("detection across three hosts (network namespaces)")
    hosts = Hosts(len(NAMES))
    try:
        refused = hosts.bring_up()
        if refused:
            note(f"detect_hosts left out: {refused}")
            return
        count = trials_of(options, SLOW_TRIALS)
        repeat(figures, "detect: silent node to new workers", count, lambda: lost(hosts, "cut", NAMES[1:]), most=6000)
        repeat(figures, "detect: silent node, dead=2, to new workers", count,
               lambda: lost(hosts, "cut", NAMES[1:], "--rdzv-conf=dead=2"), most=2500)
        repeat(figures, "detect: power loss of the host's node to new workers", count, lambda: lost(hosts, "kill", NAMES[:1]), most=7000)
    finally:
        hosts.call("down")
