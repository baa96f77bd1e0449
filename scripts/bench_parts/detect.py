# SPDX-License-Identifier: Apache-2.0
"""detect: how long a job of three nodes on loopback takes to notice an end, and to go on. Histograms over many trials."""

import random
import signal

from bench_parts.figures import note
from bench_parts.programs import wait_for
from bench_parts.stamped_job import StampedJob, boot_time, parent_of, send_signal

FAST_TRIALS = 100
SMOKE_TRIALS = 2
HUNG_AT_MOST = 3  # what hung so often is left alone
TRIAL_SECONDS = 30.0
NODES = ["a", "b", "c"]  # the first one hosts
chance = random.Random(1)  # the same victims and pauses in every run


def pause(most):
    """So that trials do not keep step with leases: up to `most` seconds."""
    end = boot_time() + chance.uniform(0, most)
    wait_for("the pause is over", lambda: boot_time() >= end, most + TRIAL_SECONDS)


def trials_of(options, usual):
    """How many: as --trials says; few where this is a smoke run."""
    return options.trials or (SMOKE_TRIALS if options.reps == 1 else usual)


def repeat(figures, name, count, trial, most):
    """The figure of `count` trials, milliseconds. trial() gives seconds, or fails with AssertionError where it hung."""
    taken, hung = [], 0
    for _ in range(count):
        try:
            taken.append(trial() * 1e3)
        except AssertionError as error:
            hung += 1
            note(f"{name}: a trial hung: {error}")
            if hung == HUNG_AT_MOST:
                break
    if taken:
        figures.spread(name, taken, "ms", most=most)
    if hung:
        figures.add(f"{name}: trials that hung", hung, "", len(taken) + hung, most=0)


class FailingWorkers:
    """One job through all trials, whose workers fail one after another. A trial that hangs ends it; the next one begins anew."""

    def __init__(self):
        self.job, self.up = None, []
        self.to_new_round = []  # milliseconds

    def trial(self):
        try:
            if self.job is None:
                self.job = StampedJob("--nnodes=3", "--max-restarts=100000")
                self.up = self.job.start_all(NODES)
            return self.fail_one()
        except AssertionError:
            self.close()
            raise

    def fail_one(self):
        """From a worker's own last stamp until the last of the others was told to stop."""
        pause(0.1)
        victim = chance.choice(self.up)
        send_signal(victim.pid, signal.SIGUSR1)
        others = self.job.told(victim.round, set(NODES) - {victim.node}, TRIAL_SECONDS)
        failed = next(stamp.at for stamp in self.job.stamps if stamp.event == "failed" and stamp.round == victim.round)
        self.up = self.job.next_up(victim.round, set(NODES), TRIAL_SECONDS)
        self.to_new_round.append((max(stamp.at for stamp in self.up) - failed) * 1e3)
        return max(stamp.at for stamp in others) - failed

    def close(self):
        if self.job:
            self.job.close()
        self.job = None


def worker_exit(figures, options):
    workers = FailingWorkers()
    try:
        repeat(figures, "detect: worker exit to all nodes told", trials_of(options, FAST_TRIALS), workers.trial, most=20)
        if workers.to_new_round:
            figures.spread("detect: worker exit to new workers", workers.to_new_round, "ms")
    finally:
        workers.close()


def agent_killed(hosting):
    """From SIGKILL of an agent until the last of the survivors' new workers is up; a fresh job, so that three nodes are there."""
    with StampedJob("--nnodes=2:3") as job:
        up = job.start_all(NODES)
        name = NODES[0] if hosting else chance.choice(NODES[1:])
        victim = next(stamp for stamp in up if stamp.node == name)
        agent = parent_of(victim.pid)
        pause(1.0)
        begin = boot_time()
        send_signal(agent, signal.SIGKILL)
        new = job.next_up(victim.round, set(NODES) - {victim.node}, TRIAL_SECONDS)
        return max(stamp.at for stamp in new) - begin


def detect(figures, options):
    figures.title("detection on loopback, three nodes")
    worker_exit(figures, options)
    count = trials_of(options, FAST_TRIALS)
    repeat(figures, "detect: SIGKILL of an agent to new workers", count, lambda: agent_killed(hosting=False), most=500)
    repeat(figures, "detect: SIGKILL of the host's agent to new workers", count, lambda: agent_killed(hosting=True), most=1000)
