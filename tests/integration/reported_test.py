#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users of other launchers reported, as jobs of `muster run` on loopback: tests/field_reports.md says which report is which test.

Usage: reported_test.py CASE (see CASES at the end). Agents are real processes, the workers are scripts; waits end at a line or a state.
"""

import contextlib
import os
import signal
import socket
import sys
import tempfile
import time

from muster_case import SOURCE_DIR, Process, binary, wait_for
from node_job import HOLD, Job, expect, holds, kill_node, lines, ranks, rounds

SUPPORT = os.path.join(SOURCE_DIR, "tests", "support")
AT = "echo at $$RANK of $$WORLD_SIZE by $$GROUP_RANK"
SPARE = 3.0  # for a machine that is busy with other tests


@contextlib.contextmanager
def starting_signs():
    """Files that scripts look for as $GO and $GO.more; a function that makes them."""
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        os.environ["GO"] = f"{folder}/go"

        def give(suffix=""):
            with open(f"{folder}/go{suffix}", "w", encoding="ascii"):
                pass
        yield give
        del os.environ["GO"]


def ports_of_one_node():
    """The usual ports are taken, and two jobs of one node start at once: neither asks for a port, each has a store of its own."""
    with contextlib.ExitStack() as stack:
        for port in (29400, 29500):
            other = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # somebody else has it: as good
                other.bind(("127.0.0.1", port))
                other.listen()
        command = [binary("muster"), "run", "--nproc-per-node=2", f"{SUPPORT}/store_probe.py"]
        jobs = [stack.enter_context(Process(command, extra_env={"PYTHON_EXEC": sys.executable})) for _ in range(2)]
        for job in jobs:
            expect(job.wait(), 0, job)
            assert len(lines(job, "^counted 2$")) == 1, job.output()


def given_ranks():
    """Node ranks that were given are obeyed with c10d, whoever hosts and in whatever order the nodes come."""
    with Job("--nnodes=3", script=AT) as job:
        job.start_host("--node-rank=2")
        job.start("--node-rank=0")
        job.start("--node-rank=1")
        for wish, node in zip((2, 0, 1), job.nodes):
            expect(node.wait(), 0, node)
            assert sorted(lines(node, r"^at (\d) of 6 by (\d)$")) == [(str(2 * wish), str(wish)), (str(2 * wish + 1), str(wish))], node.output()


def two_jobs_at_one_endpoint():
    """A second job at an endpoint is told whose it is and touches nothing; once the first one is over the endpoint is free."""
    with Job("--nnodes=2", script=HOLD, conf="dead=2") as job:
        first, second = job.start_host(), job.start()
        for node in (first, second):
            holds(node, 4)
        begin = time.monotonic()
        stranger = job.start(run_id="another-job")
        expect(stranger.wait(), 84, stranger)
        assert time.monotonic() - begin < 5 + SPARE
        assert lines(stranger, "another-job") and lines(stranger, job.mark), stranger.output()
        for node in (first, second):
            assert node.popen.poll() is None and len(rounds(node)) == 1, node.output()
        first.signal(signal.SIGTERM)
        for node in (first, second):
            assert node.wait() != 0, node.output()
        for _ in range(2):
            job.start(run_id="another-job", script=AT)
        for node in job.nodes[-2:]:
            expect(node.wait(), 0, node)


def overshoot():
    """Six nodes at once for at most four: one round of four without any quiet period, two spares, and success for all six."""
    script = "echo held $$RANK of $$WORLD_SIZE in $$MUSTER_ROUND; while [ ! -e $$GO ]; do sleep 0.05; done"
    with starting_signs() as give, Job("--nnodes=2:4", script=script, conf="dead=2,last_call_timeout=60") as job:
        for _ in range(6):
            job.start()
        running = wait_for("four nodes run", lambda: len(found := [node for node in job.nodes if rounds(node)]) == 4 and found)
        spares = [node for node in job.nodes if node not in running]
        for node in spares:
            node.wait_for_output("^muster: ")
        give()
        for node in job.nodes:
            expect(node.wait(), 0, node)
        assert sorted(rank for node in running for rank in ranks(node, 1)) == list(range(8))
        assert all(rounds(node) == [(1, 8)] for node in running) and not any(lines(node, "^held") for node in spares)


def late_pollers():
    """Rank 0 and its node are done at once; the store that they brought answers the others until these are done, and nobody complains."""
    with starting_signs() as give, Job("--nnodes=2", "--nproc-per-node=1", script=f"exec {sys.executable} {SUPPORT}/store_poller.py") as job:
        nodes = [job.start_host("--node-rank=0"), job.start("--node-rank=1")]
        nodes[1].wait_for_output("^asked 300$")  # the value was there long before: rank 0 has ended
        give()
        for node in nodes:
            expect(node.wait(), 0, node)
            assert not lines(node, r"(?i)error|broken|reset|hung up|lost"), node.output()


def budget_of_the_job():
    """Failures of both nodes are taken from one budget; every worker of a round is told one count."""
    fails = "[ $$at = {} ] && [ $$RANK = {} ] && exit {}; "
    everybody = "for i in 0 1 2 3; do while [ ! -e $$GO.$$at.$$i ]; do sleep 0.05; done; done; "  # has said it before one fails
    script = "at=$$TORCHELASTIC_RESTART_COUNT; echo count $$at of $$TORCHELASTIC_MAX_RESTARTS; : > $$GO.$$at.$$RANK; " + everybody + \
             fails.format(0, 0, 11) + fails.format(1, 2, 12) + fails.format(2, 1, 13) + "exec sleep 60"
    with starting_signs(), Job("--nnodes=2", "--max-restarts=2", script=script) as job:
        nodes = [job.start(), job.start()]
        for node in nodes:
            expect(node.wait(), 13, node)
            assert sorted(lines(node, r"^count (\d) of 2$")) == list("001122"), node.output()


def operators_variables():
    """Variables that an operator sets in each pod never reach a worker as if they were the launcher's; those of options are options."""
    pod = {"WORLD_SIZE": "64", "RANK": "17", "LOCAL_RANK": "5", "MASTER_ADDR": "pod-0", "MASTER_PORT": "1", "GROUP_RANK": "17",
           "PET_NPROC_PER_NODE": "2", "PET_NNODES": "1"}
    script = "echo at $RANK of $WORLD_SIZE by $GROUP_RANK, local $LOCAL_RANK, master $MASTER_ADDR"
    with Process([binary("muster"), "run", "--no-python", "/bin/sh", "-c", script.replace("$", "$$")], extra_env=pod) as job:
        expect(job.wait(), 0, job)
        assert sorted(lines(job, "^at .*")) == [f"at {i} of 2 by 0, local {i}, master 127.0.0.1" for i in (0, 1)], job.output()


def ghost():
    """A node that came and lost its power before the round began is not counted: the world is of those who live."""
    with Job("--nnodes=3", script=AT, conf="dead=2") as job:
        first = job.start_host()
        lost = job.start()
        first.wait_for_output("2 of at least 3 are here")
        kill_node(lost)
        job.start()
        job.start()
        living = [node for node in job.nodes if node is not lost]
        for node in living:
            expect(node.wait(), 0, node)
        assert sorted(rank for node in living for rank, _ in lines(node, r"^at (\d) of 6 by (\d)$")) == list("012345")


def spare_stays_spare():
    """A worker's failure starts the same nodes again, with their ranks; a spare that is there takes nobody's place, and ends with 0."""
    script = "echo held $$RANK of $$WORLD_SIZE in $$MUSTER_ROUND; while [ ! -e $$GO ]; do [ -e $$GO.fail ] && " \
             "[ $$TORCHELASTIC_RESTART_COUNT = 0 ] && [ $$RANK = 3 ] && exit 7; sleep 0.05; done"
    with starting_signs() as give, Job("--nnodes=2", "--max-restarts=1", script=script, conf="dead=2") as job:
        first, second = job.start_host(), job.start()
        for node in (first, second):
            holds(node, 4)
        before = [ranks(node, 1) for node in (first, second)]
        spare = job.start()
        spare.wait_for_output("^muster: ")
        give(".fail")
        number = holds(first, 4, after=1)
        assert holds(second, 4) == number
        assert [ranks(node, number) for node in (first, second)] == before
        give()
        for node in job.nodes:
            expect(node.wait(), 0, node)
        assert not lines(spare, "^held"), spare.output()


CASES = {case.__name__: case for case in (ports_of_one_node, given_ranks, two_jobs_at_one_endpoint, overshoot, late_pollers,
                                          budget_of_the_job, operators_variables, ghost, spare_stays_spare)}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for name in wanted:
        CASES[name]()
        print(f"{name}: as it should be", flush=True)
