#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training that grows and shrinks takes each sample once; many agents that start at one moment meet in one round.

Usage: scale_test.py CASE (see CASES at the end). Agents are real processes on loopback.
"""

import collections
import contextlib
import glob
import os
import re
import signal
import sys
import tempfile

from muster_case import Process, binary, run, wait_for
from node_job import Job, expect, free_port, kill_agent, lines

SAMPLES, BATCH = 9000, 97  # of mnist10k; of each step, whatever the world
STEPS = -(-SAMPLES // BATCH)  # of an epoch; the last one has 76 samples
AGENTS = 64


def logged(folder):
    """{round: {rank: {step: (epoch, samples)}}} of what `mnist_ddp --rows-to` wrote. A line that is not whole yet does not count."""
    rounds = collections.defaultdict(dict)
    for path in glob.glob(f"{folder}/round-*-rank-*.txt"):
        number, rank = map(int, re.search(r"round-(\d+)-rank-(\d+)", path).groups())
        with open(path, encoding="ascii") as file:
            whole = file.read().rpartition("\n")[0].split("\n")
        words = [list(map(int, line.split())) for line in whole if line]
        rounds[number][rank] = {step: (epoch, rows) for epoch, step, *rows in words}
    return {number: ranks for number, ranks in rounds.items() if in_step(ranks)}


def in_step(ranks):
    """Steps of a round that all of its ranks have taken: {step: (epoch, samples of all)}."""
    common = set.intersection(*(set(steps) for steps in ranks.values()))
    taken = {}
    for step in common:
        epochs = {steps[step][0] for steps in ranks.values()}
        assert len(epochs) == 1, (step, epochs)
        taken[step] = (epochs.pop(), sorted(row for steps in ranks.values() for row in steps[step][1]))
    return taken


def trains(folder, world, nodes, after=0, steps=20):
    """Waits until a round of that world, later than `after`, has taken some steps. The round."""
    def look():
        for node in nodes:
            assert node.popen.poll() is None, f"ended with {node.popen.returncode}:\n{node.output()}"
        found = logged(folder)
        newest = max(found, default=0)
        ready = newest > after and len(found[newest]) == world and len(in_step(found[newest])) >= steps
        return newest if ready else None
    try:
        return wait_for(f"{steps} steps in a world of {world} after round {after}", look, 40)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{nodes[0].output()}") from None


def every_sample_once(histories):
    """`histories`: logged() of jobs that followed each other. What later rounds took again replaces what was lost."""
    history, last = {}, 0
    for rounds in histories:
        for number in sorted(rounds):
            taken = in_step(rounds[number])
            for step, (epoch, rows) in taken.items():
                wanted = BATCH if step % STEPS != STEPS - 1 else SAMPLES - (STEPS - 1) * BATCH
                assert len(rows) == wanted == len(set(rows)), f"round {number}, step {step}: {len(rows)} samples"
                assert epoch == step // STEPS, f"round {number}, step {step}: epoch {epoch}"
            history.update(taken)
            last = max(taken, default=last)
    epochs = collections.defaultdict(list)
    for step in sorted(history):
        epochs[history[step][0]] += history[step][1]
    assert sorted(history) == list(range(last + 1)), "a step is missing"
    for epoch, rows in epochs.items():
        assert sorted(rows) == list(range(SAMPLES)), f"epoch {epoch}: {len(rows)} samples, {len(set(rows))} different ones"
    return last + 1


def mnist():
    """1 -> 4 -> 3 -> 2 nodes, then one of two is lost. Each world goes on at the step where the one before it was stopped, or, where nobody
    could save any more, at a checkpoint; the samples of a step are as many in every world, and of an epoch each comes once."""
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        rows, saved = f"{folder}/rows", f"{folder}/checkpoint"
        command = f"{binary('mnist_ddp')} --global-batch {BATCH} --checkpoint {saved}"
        with Job("--nnodes=1:4", "--nproc-per-node=1", script=f"exec {command} --epochs 100000 --rows-to {rows}/grown",
                 conf="last_call_timeout=1,scale_interval=0") as job:
            first = job.start_host()
            number = trains(f"{rows}/grown", 1, [first])
            for _ in range(3):
                job.start()
            number = trains(f"{rows}/grown", 4, job.nodes, after=number)
            for left in (3, 2):
                leaver = job.nodes[left]
                leaver.signal(signal.SIGTERM)
                expect(leaver.wait(), 128 + signal.SIGTERM, leaver)
                number = trains(f"{rows}/grown", left, job.nodes[:left], after=number)
            before_the_loss = number
            kill_agent(job.nodes[1])
            trains(f"{rows}/grown", 1, [first], after=number)
            assert not lines(first, r"restart \d+ of"), first.output()
            resumed = lines(first, r"^resumed from epoch (\d+), step (\d+)")
            first.signal(signal.SIGTERM)
            expect(first.wait(), 128 + signal.SIGTERM, first)
            job.nobody_is_left()
            said = "\n---\n".join(node.output() for node in job.nodes)
        grown = logged(f"{rows}/grown")
        ended = {number: max(in_step(ranks)) for number, ranks in grown.items()}
        begun = {number: min(in_step(ranks)) for number, ranks in grown.items()}
        story = f"rounds began at {begun}, ended at {ended}, resumed were {resumed}\n{said}"
        for before, number in zip(sorted(grown), sorted(grown)[1:]):
            assert (str(begun[number] // STEPS), str(begun[number])) in resumed, story
            # Who could save did so behind its last step; who could not goes back to an epoch's end, or to where it began itself.
            epochs = set(range(0, ended[before] + 2, STEPS))
            saved = {ended[before] + 1} if number <= before_the_loss else {begun[before]} | {step for step in epochs if step > begun[before]}
            assert begun[number] in saved, story
        epochs = max(max(in_step(ranks)) for ranks in grown.values()) // STEPS + 1
        status, output = run([*command.split(), "--epochs", str(epochs), "--rows-to", f"{rows}/rest"])
        assert status == 0 and re.search(r"^test accuracy 9\d\.\d\d %$", output, re.M), output
        assert every_sample_once([grown, logged(f"{rows}/rest")]) == epochs * STEPS


def many_agents():
    """64 agents that are let go at one moment: one round, dense ranks, all exit 0."""
    endpoint = f"127.0.0.1:{free_port()}"
    command = [binary("muster"), "run", "--no-python", f"--nnodes={AGENTS}", "--nproc-per-node=1", "--rdzv-backend=c10d",
               f"--rdzv-endpoint={endpoint}", "--rdzv-id=many", "/bin/sh", "-c",
               "echo at $$RANK of $$WORLD_SIZE by $$GROUP_RANK of $$GROUP_WORLD_SIZE in $$MUSTER_ROUND to $$MASTER_PORT"]
    gate, starter = os.pipe()
    with contextlib.ExitStack() as stack:
        # Each shell waits for the end of the pipe; so none of them has a head start.
        waiting = ["/bin/sh", "-c", 'echo ready; read -r _; exec 0</dev/null "$@"', "sh", *command]
        agents = [stack.enter_context(Process(waiting, stdin=gate)) for _ in range(AGENTS)]
        for agent in agents:
            agent.wait_for_output("^ready")
        os.close(gate)
        os.close(starter)
        for agent in agents:
            expect(agent.wait(60), 0, agent)
        seen = [lines(agent, r"^at (\d+) of (\d+) by (\d+) of (\d+) in (\d+) to (\d+)$") for agent in agents]
    assert all(len(each) == 1 for each in seen), seen
    ranks, sizes, groups, nodes, rounds, ports = zip(*(each[0] for each in seen))
    assert sorted(map(int, ranks)) == list(range(AGENTS)) == sorted(map(int, groups)), ranks
    assert set(sizes) == set(nodes) == {str(AGENTS)}, (sizes, nodes)
    assert set(rounds) == {"1"} and len(set(ports)) == 1, (rounds, ports)


CASES = {"mnist": mnist, "many_agents": many_agents}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
