#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes come, leave, vanish and come back while a job runs; so does the host of its rendezvous.

Usage: elastic_nodes_test.py CASE (see CASES at the end). Agents are real processes on loopback, the workers are shell scripts; waits
end at a line or a state.
"""

import contextlib
import os
import signal
import sys
import time

from muster_case import Process, binary, let_pass, processes_with, skip, wait_for
from node_job import HOLD, UNTIL_GO, Job, agents_of, children_of, expect, free_port, go, go_file, holds
from node_job import kill_agent, kill_node, lines, listens, ranks, rounds

DEAD = 2.0  # dead=2 in these jobs
QUICK = "dead=2,last_call_timeout=1,scale_interval=0"
SPARE = 4.0  # for a machine that is busy with other tests


@contextlib.contextmanager
def world(nodes, *options, conf=QUICK, places=1, script=HOLD, host_options=()):
    """A job of that many running nodes; the first one hosts."""
    with Job(*options, script=script, conf=conf, places=places) as job:
        job.start_host(*host_options)
        for _ in range(nodes - 1):
            job.start()
        for node in job.nodes:
            holds(node, 2 * nodes)
        yield job


def runs_undisturbed(nodes, seen):
    for node, before in zip(nodes, seen):
        assert node.popen.poll() is None, node.output()
        assert rounds(node) == before, node.output()


def end(node, wanted=128 + signal.SIGTERM):
    node.signal(signal.SIGTERM)
    expect(node.wait(), wanted, node)


def join():
    """A job that may grow does: its first workers are stopped and start again, with their ranks, beside the newcomer's."""
    with world(1, "--nnodes=1:2") as job:
        first = job.nodes[0]
        second = job.start()
        number = holds(first, 4, after=1)
        assert holds(second, 4) == number
        assert ranks(first, number) == [0, 1] and ranks(second, number) == [2, 3]
        first.wait_for_output(r"node \S+ joined; 2 nodes go on with 4 workers")
        second.wait_for_output(r"4 workers on 2 nodes")


def leave(hosting):
    with world(3, "--nnodes=1:3") as job:
        goer = job.nodes[0 if hosting else 2]
        stayers = [node for node in job.nodes if node is not goer]
        end(goer)
        for node in stayers:
            holds(node, 4, after=1)
            node.wait_for_output(r"^muster: host \S+: received SIGTERM; 2 nodes go on with 4 workers")
        seen = [rounds(node) for node in stayers]
        let_pass(2 * DEAD)  # whoever misses the host that left would elect another one by now
        runs_undisturbed(stayers, seen)


def leave_and_return():
    with world(2, "--nnodes=1:2", conf="dead=2,last_call_timeout=0,scale_interval=0") as job:
        first, second = job.nodes
        number = holds(first, 4)
        for _ in range(20):
            end(second)
            number = holds(first, 2, after=number)
            assert ranks(first, number) == [0, 1]
            second = job.start()
            number = holds(first, 4, after=number)
            assert holds(second, 4) == number
            assert ranks(first, number) == [0, 1]
        assert not lines(first, r"restart \d+ of"), first.output()


def lost_member(proven):
    with world(2, "--nnodes=1:2") as job:
        host, other = job.nodes
        begin = time.monotonic()
        (kill_agent if proven else kill_node)(other)
        holds(host, 2, after=1)
        took = time.monotonic() - begin
        assert took < (1.0 if proven else DEAD + 1.0) + SPARE, took
        host.wait_for_output(r"node \S+ is lost: .*; 1 node goes on with 2 workers")


def proven_by_token():
    """The last word is heard of those who know the job's token."""
    if not os.path.exists(os.path.join(os.path.dirname(binary("muster")), "libmuster_secure.so")):
        skip("muster was built without OpenSSL (libssl-dev)")
    os.environ["MUSTER_TOKEN"] = "a token of this very job"
    lost_member(proven=True)
    lost_host_proven()


def lost_host_proven():
    with world(2, "--nnodes=1:2") as job:
        host, other = job.nodes
        begin = time.monotonic()
        kill_agent(host)
        holds(other, 2, after=1)
        assert time.monotonic() - begin < 1.0 + SPARE
        end(other)
        job.nobody_is_left()


def lost_host_of_two():
    """Power loss of the host: the other one cannot know that, holds, says so, and ends with the code for a lost quorum."""
    with world(2, "--nnodes=1:2", conf=QUICK + ",join_timeout=3") as job:
        host, other = job.nodes
        kill_node(host)
        other.wait_for_output("no majority of the nodes can be reached")
        expect(other.wait(), 83, other)
        assert len(rounds(other)) == 1, other.output()
        job.nobody_is_left()


def lost_host_of_three():
    with world(3, "--nnodes=1:3") as job:
        host, *others = job.nodes
        begin = time.monotonic()
        kill_node(host)
        number = max(holds(node, 4, after=1) for node in others)
        assert time.monotonic() - begin < 2 * DEAD + SPARE
        kill_agent(others[1])  # whoever hosts now, or not
        holds(others[0], 2, after=number)


def lost_host_forming():
    """The host dies between PREPARE and COMMIT of a further round, which a node that stands still keeps open."""
    with go_file() as path, world(3, "--nnodes=1:4", conf="dead=8,last_call_timeout=0,scale_interval=0", script=UNTIL_GO,
                                  host_options=["--log-level=info"]) as job:
        host, second, third = job.nodes
        before = holds(second, 6)
        still = agents_of(third)[0]
        os.kill(still, signal.SIGSTOP)
        late = job.start()
        host.wait_for_output(f"waiting for 1 node to stop the workers of round {before}")
        kill_agent(host)
        os.kill(still, signal.SIGCONT)
        number = holds(second, 6, after=before)
        for node in (third, late):
            assert holds(node, 6, after=before) == number
        go(path)
        for node in (second, third, late):
            expect(node.wait(), 0, node)
        expect(host.wait(), 128 + signal.SIGKILL, host)
        job.nobody_is_left()


def lost_host_at_end(at):
    """The host dies when workers are done: `told nobody`: it knows of no node's end yet; else so long after the first was done."""
    with go_file() as path, world(3, "--nnodes=1:3", script=UNTIL_GO) as job:
        host, *others = job.nodes
        agent = agents_of(host)[0]
        if at == "told nobody":
            os.kill(agent, signal.SIGSTOP)
            go(path)
            wait_for("no worker runs", lambda: not processes_with(f"TWO_NODES_MARK={job.mark}", command="/bin/sh"))
        else:
            go(path)
            let_pass(at)
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent, signal.SIGKILL)
        for node in others:
            expect(node.wait(), 0, node)
        assert host.wait() in (0, 128 + signal.SIGKILL), host.output()
        job.nobody_is_left()


def contested():
    """Another job's host at the endpoint that this job's first host has left: whoever is wrong there is told of both, and neither job
    is disturbed."""
    with world(3, "--nnodes=1:3") as job:
        kill_agent(job.nodes[0])
        number = max(holds(node, 4, after=1) for node in job.nodes[1:])
        stranger = job.start("--nnodes=1:2", run_id="stranger", script=HOLD)
        wait_for("it hosts", lambda: listens(job.port))
        holds(stranger, 2)
        late = job.start()
        late.wait_for_output(rf"the endpoint serves run stranger, started on host \S+; host \S+ asks for run {job.mark}")
        expect(late.wait(), 84, late)
        seen = [rounds(node) for node in job.nodes[1:3]]
        let_pass(2 * DEAD)
        runs_undisturbed(job.nodes[1:3], seen)
        assert all(before[-1][0] == number for before in seen), seen
        end(stranger)


def lost_two_of_four():
    """The agents of the host and of another node at once: the host's death is proven to the voters, the other's shows by its silence."""
    with world(4, "--nnodes=1:4") as job:
        host, *others, last = job.nodes
        kill_agent(host)
        kill_agent(last)
        number = max(holds(node, 4, after=1) for node in others)
        assert number > 1
        end(others[0])
        holds(others[1], 2, after=number)


def fixed_size():
    """Below MIN the job holds and says whom it misses; whoever comes takes the place; nobody comes: the documented code."""
    with world(2, "--nnodes=2", conf=QUICK + ",join_timeout=4") as job:
        host, other = job.nodes
        kill_agent(other)
        host.wait_for_output(r"1 of at least 2 nodes are left")
        third = job.start()
        number = holds(host, 4, after=1)
        assert holds(third, 4) == number
        assert ranks(host, number) == [0, 1] and ranks(third, number) == [2, 3]
        kill_agent(third)
        expect(host.wait(), 81, host)
        job.nobody_is_left()


def spare():
    """A third node of two waits with one line, and exits 0 when the job succeeds."""
    with go_file() as path, Job("--nnodes=2", conf=QUICK, script="echo held; while [ ! -e $$GO ]; do sleep 0.05; done") as job:
        first, second = job.start_host(), job.start()
        for node in (first, second):
            wait_for("its workers run", lambda node=node: len(lines(node, "^held")) == 2)
        third = job.start()
        third.wait_for_output("muster: ")
        let_pass(2 * DEAD)
        assert len(lines(third, "^muster: ")) == 1, third.output()
        go(path)
        for node in (first, second, third):
            expect(node.wait(), 0, node)
        assert not lines(third, "^held"), third.output()


def spares():
    """Five times a node is lost, and each time one that waits has its place at once."""
    with world(2, "--nnodes=2") as job:
        first, other = job.nodes
        number = holds(first, 4)
        for _ in range(5):
            waiting = job.start()
            waiting.wait_for_output("muster: ")
            begin = time.monotonic()
            kill_agent(other)
            number = holds(first, 4, after=number)
            assert time.monotonic() - begin < 1.0 + SPARE
            assert holds(waiting, 4) == number
            assert ranks(first, number) == [0, 1] and ranks(waiting, number) == [2, 3]
            other = waiting


def spare_of_host():
    """The host's agent dies at the only place to meet: a node that waits finds the next host, and has the lost one's place."""
    with world(3, "--nnodes=2:3") as job:
        waiting = job.start()
        waiting.wait_for_output("muster: ")
        before = holds(job.nodes[1], 6)
        kill_agent(job.nodes[0])
        number = holds(waiting, 6)
        assert number == before + 1, f"round {number} after {before}: the others went through a smaller one"
        assert all(holds(node, 6, after=before) == number for node in job.nodes[1:3])


def moved_by_daemon(how):
    """A stand-alone daemon that dies, comes again, or ends, while four nodes train: no worker is restarted; the next failure is
    handled as ever."""
    port = free_port()
    command = [binary("musterd"), "--host", "127.0.0.1", "--port", str(port)]
    with Job("--nnodes=1:4", script=HOLD, conf=QUICK) as job, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Process(command))
        daemon.wait_for_output("listening")
        job.ports = [port]
        for _ in range(4):
            job.start()
        for node in job.nodes:
            holds(node, 8)
        seen = [rounds(node) for node in job.nodes]
        daemon.signal(signal.SIGTERM if how == "ends" else signal.SIGKILL)
        daemon.wait()
        if how == "again":
            stack.enter_context(Process(command)).wait_for_output("listening")
        let_pass(3 * DEAD)
        runs_undisturbed(job.nodes, seen)
        kill_agent(job.nodes[3])
        for node in job.nodes[:3]:
            holds(node, 6, after=1)
        if how != "again":
            return
        late = job.start()
        holds(late, 8)


def places():
    """With a list of places to meet, newcomers find the job also when its first host is gone."""
    with world(3, "--nnodes=1:3", places=3) as job:
        kill_node(job.nodes[0])
        for node in job.nodes[1:]:
            holds(node, 4, after=1)
        late = job.start()
        for node in (job.nodes[1], job.nodes[2], late):
            holds(node, 6, after=1)


def deposed():
    """A host that stood still while the others elected another one is told so, and takes part again as a node."""
    with world(3, "--nnodes=1:3") as job:
        host, *others = job.nodes
        os.kill(agents_of(host)[0], signal.SIGSTOP)
        number = max(holds(node, 4, after=1) for node in others)
        assert all(size == 6 for _, size in rounds(host)), host.output()
        os.kill(agents_of(host)[0], signal.SIGCONT)
        for node in job.nodes:
            holds(node, 6, after=number)


def reborn():
    """A host that is started again at the endpoint of a job that has another host joins it."""
    with world(3, "--nnodes=1:3") as job:
        kill_agent(job.nodes[0])
        number = max(holds(node, 4, after=1) for node in job.nodes[1:])
        again = job.start()
        for node in (*job.nodes[1:3], again):
            holds(node, 6, after=number)


def stopped(seconds):
    """An agent that is stopped for less than it may be silent loses nothing; for longer: it is counted out, its workers are gone, and
    it comes again."""
    with world(3, "--nnodes=1:3", conf="dead=4,last_call_timeout=1,scale_interval=0") as job:
        *others, victim = job.nodes
        seen = [rounds(node) for node in job.nodes]
        agent = agents_of(victim)[0]
        os.kill(agent, signal.SIGSTOP)
        if seconds < 4:
            let_pass(seconds)
            os.kill(agent, signal.SIGCONT)
            let_pass(5)
            return runs_undisturbed(job.nodes, seen)
        victim.wait_for_output("its workers were ended")
        number = max(holds(node, 4, after=1) for node in others)
        os.kill(agent, signal.SIGCONT)
        for node in job.nodes:
            holds(node, 6, after=number)


def stopped_at_defaults():
    """20 s at the default settings: it is counted out, its workers are gone before the others' new round begins, and it comes again."""
    with world(3, "--nnodes=2:3", conf="") as job:
        *others, victim = job.nodes
        agent = agents_of(victim)[0]
        workers = children_of(agent)
        assert len(workers) == 2, workers
        begin = time.monotonic()
        os.kill(agent, signal.SIGSTOP)
        number = max(holds(node, 4, after=1) for node in others)
        assert not set(workers) & set(processes_with(f"TWO_NODES_MARK={job.mark}"))
        let_pass(20 - (time.monotonic() - begin))
        os.kill(agent, signal.SIGCONT)
        for node in job.nodes:
            holds(node, 6, after=number)
        job_goes_on = [node.popen.poll() for node in job.nodes]
        assert job_goes_on == [None] * 3, job_goes_on


def interrupted():
    """Ctrl-C works in every wait."""
    with Job("--nnodes=3", script=HOLD, conf="dead=2") as job:
        alone, second = job.start_host(), job.start()
        shy = Job("--nnodes=3", script=HOLD, conf="bootstrap=never")  # nobody is there
        with shy:
            nobody = shy.start()
            wait_for("it runs", lambda: len(agents_of(nobody)) == 2)
            for node in (nobody, second, alone):
                begin = time.monotonic()
                node.signal(signal.SIGINT)
                expect(node.wait(), -signal.SIGINT, node)
                assert time.monotonic() - begin < 2 + SPARE
    with world(2, "--nnodes=2", conf="dead=2,last_call_timeout=1") as job:
        host, other = job.nodes
        waiting = job.start()
        waiting.wait_for_output("muster: ")
        waiting.signal(signal.SIGINT)
        expect(waiting.wait(), -signal.SIGINT, waiting)
        kill_agent(other)
        host.wait_for_output("1 of at least 2 nodes are left")
        host.signal(signal.SIGINT)
        expect(host.wait(), -signal.SIGINT, host)


CASES = {
    "join": join,
    "leave": lambda: leave(hosting=False),
    "leave_host": lambda: leave(hosting=True),
    "leave_and_return": leave_and_return,
    "lost_member": lambda: lost_member(proven=False),
    "proven_member": lambda: lost_member(proven=True),
    "proven_member_token": proven_by_token,
    "proven_host": lost_host_proven,
    "lost_host_of_two": lost_host_of_two,
    "lost_host_of_three": lost_host_of_three,
    "lost_host_forming": lost_host_forming,
    "lost_host_untold": lambda: lost_host_at_end("told nobody"),
    "lost_host_at_end": lambda: [lost_host_at_end(at / 1000) for at in (0, 5, 10, 20, 40, 80)],
    "contested": contested,
    "lost_two_of_four": lost_two_of_four,
    "fixed_size": fixed_size,
    "spare": spare,
    "spares": spares,
    "spare_of_host": spare_of_host,
    "daemon_again": lambda: moved_by_daemon("again"),
    "daemon_gone": lambda: moved_by_daemon("gone"),
    "daemon_ends": lambda: moved_by_daemon("ends"),
    "places": places,
    "deposed": deposed,
    "reborn": reborn,
    "stopped_briefly": lambda: stopped(2),
    "stopped_long": lambda: stopped(8),
    "stopped_at_defaults": stopped_at_defaults,
    "interrupted": interrupted,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
