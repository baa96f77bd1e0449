#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job with real processes: its bits for 2 and 4 workers, a worker killed, a job stopped and taken up again, bad input."""

import glob
import json
import os
import re
import signal
import tempfile

from muster_case import Process, binary, run, wait_for

EPOCHS = 6
MNIST = [binary("mnist_ddp"), "--digest", "--epochs", str(EPOCHS)]


def workers(count, *options):
    return [binary("muster"), "run", "--standalone", f"--nproc-per-node={count}", *options, "--no-python", *MNIST]


def digest(output):
    found = re.search(r"^parameters fnv ([0-9a-f]{16})$", output, re.M)
    assert found, output
    assert re.search(r"test accuracy \d+\.\d\d %$", output.rstrip()), output
    return found.group(1)


def trained(command):
    status, output = run(command)
    assert status == 0, output
    return digest(output)


def steps(folder):
    return sorted(os.path.basename(path) for path in glob.glob(f"{folder}/step-????????"))


def rank_pid(job, rank):
    """The process of a rank of the job in its first attempt."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read().split(b"\0")
        except OSError:
            continue
        if {f"MUSTER_TEST={job}".encode(), f"RANK={rank}".encode(), b"TORCHELASTIC_RESTART_COUNT=0"} <= set(environment):
            return int(pid)
    return None


def workers_give_the_bits_of_one_process():
    references = {}
    for count in (2, 4):
        references[count] = trained([*MNIST, "--simulate-world", str(count)])
        assert trained(workers(count)) == references[count], f"{count} workers"
    assert references[2] != references[4]
    for count in (3, 5):  # no powers of two: another shape of the tree
        assert trained([*workers(count), "--epochs", "1"]) == trained([*MNIST, "--epochs", "1", "--simulate-world", str(count)])
    return references


def a_killed_worker_changes_no_bit(reference):
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        command = [*workers(4, "--max-restarts=1"), "--checkpoint", folder]
        with Process(command, extra_env={"MUSTER_TEST": folder}) as job:
            victim = wait_for("rank 3's process", lambda: rank_pid(folder, 3))
            job.wait_for_output(r"^epoch 2/")  # four more are to come
            os.kill(victim, signal.SIGKILL)
            status = job.wait()
            output = job.output()
        assert status == 0, output
        assert re.search(r"^resumed from epoch \d", output, re.M), output
        assert digest(output) == reference, output
        left = sorted(os.listdir(folder))
        assert left == steps(folder) and len(left) == 2, left
        with open(f"{folder}/{left[-1]}/trainer.json", encoding="utf-8") as file:
            assert json.load(file)["round"] == 2, "the round after the restart"


def a_stopped_job_goes_on_where_it_stood(reference):
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        command = [*workers(2), "--checkpoint", folder]
        with Process(command) as job:
            job.wait_for_output(r"^epoch 1/")
            job.signal(signal.SIGTERM)
            job.wait()
            assert "asked to stop: saved at step" in job.output(), job.output()
        status, output = run(command)
        assert status == 0 and re.search(r"^resumed from epoch \d", output, re.M), output
        assert digest(output) == reference, output


def a_process_alone_says_that_it_saved():
    with tempfile.TemporaryDirectory(prefix="muster-test-") as folder:
        for options, expected in ((["--checkpoint", folder], 85), ([], 86)):
            with Process([*MNIST, "--epochs", "1000", *options]) as job:
                job.wait_for_output(r"^epoch 1/")
                job.signal(signal.SIGTERM)
                assert job.wait() == expected, job.output()
        assert steps(folder), os.listdir(folder)


def bad_input_is_one_line():
    for options, expected, status in (
            (["--epochs", "many"], r"^mnist_ddp: --epochs: 'many' is not a number", 2),
            (["--speed", "9"], r"^mnist_ddp: unknown option '--speed'", 2),
            (["--data", "/nowhere"], r"^muster: --data /nowhere: no such folder", 1),
            (["--data", "/etc"], r"^muster: /etc/train-images-idx3-ubyte\[\.gz\]: no such file", 1)):
        seen, output = run([binary("mnist_ddp"), *options])
        assert seen == status and re.match(expected, output) and output.count("\n") == 1, (seen, output)


references = workers_give_the_bits_of_one_process()
a_killed_worker_changes_no_bit(references[4])
a_stopped_job_goes_on_where_it_stood(references[2])
a_process_alone_says_that_it_saved()
bad_input_is_one_line()
