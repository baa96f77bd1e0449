#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outputs that stand still for longer than a lease lasts: nobody is evicted for it.

Usage: stuck_outputs_test.py CASE (see CASES at the end). The workers are shell scripts; waits end at a line or a state.
"""

import os
import pty
import re
import shutil
import sys
import tempfile
import termios
import tty

from muster_case import Process, binary, let_pass, wait_for
from node_job import Job, expect, holds, kill_agent, lines


def hung_log_folder():
    """Opening a log file that takes longer than `dead` (a FIFO without a reader stands for a hung file system): nobody is evicted."""
    first = ("RUN=${TORCHELASTIC_ERROR_FILE%%/attempt_*}; mkdir -p $$RUN/attempt_1/0; mkfifo $$RUN/attempt_1/0/stdout.log; "
             "echo $$RUN/attempt_1/0/stdout.log > $$FIFO_NAME; exit 1; ")
    hold = "trap 'exit 0' TERM; echo held $$RANK $$TORCHELASTIC_RESTART_COUNT >&2; while :; do sleep 0.05; done"
    with Job("--nnodes=2", "--max-restarts=1", "--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=2", script=hold) as job, \
            tempfile.TemporaryDirectory() as folder:
        name = f"{folder}/fifo"
        hung = (f"[ $$LOCAL_RANK = 0 ] && [ $$TORCHELASTIC_RESTART_COUNT = 0 ] && {{ {first.replace('$$FIFO_NAME', name)} }}; {hold}")
        other = job.start()
        slow = job.start("--redirects=1", f"--log-dir={folder}", script=hung)
        wait_for("the other node's workers run again", lambda: len(lines(other, r"held \d 1")) == 2)
        let_pass(4)
        assert not lines(slow, r"held \d 1"), slow.output()
        with open(name, encoding="ascii") as file:
            fifo = os.open(file.read().strip(), os.O_RDONLY | os.O_NONBLOCK)
        wait_for("the slow ones run", lambda: len(lines(slow, r"held \d 1")) == 2)
        for node in (other, slow):
            assert node.popen.poll() is None, node.output()
        os.close(fifo)


def round_stopped_meanwhile():
    """A round is stopped while its log files are still being made, and then they cannot be made: that round's failure is nobody's any
    more, and the node takes part in the next one."""
    fail = ("RUN=${TORCHELASTIC_ERROR_FILE%%/attempt_*}; mkdir -p $$RUN/attempt_1/0; mkfifo $$RUN/attempt_1/0/stdout.log; "
            "echo $$RUN/attempt_1 > FOLDER/attempt; exit 1; ")
    hold = "trap 'exit 0' TERM; echo held $$RANK of $$WORLD_SIZE in $$MUSTER_ROUND >&2; while :; do sleep 0.05; done"
    with Job("--nnodes=2", "--max-restarts=1", "--rdzv-conf=last_call_timeout=1", script=hold) as job, \
            tempfile.TemporaryDirectory() as folder:
        hung = (f"[ $$LOCAL_RANK = 0 ] && [ $$TORCHELASTIC_RESTART_COUNT = 0 ] && {{ {fail.replace('FOLDER', folder)} }}; {hold}")
        slow = job.start_host("--redirects=1", f"--log-dir={folder}", script=hung)
        other = job.start()
        number = holds(other, 4, after=1)
        with open(f"{folder}/attempt", encoding="ascii") as file:
            attempt = file.read().strip()
        wait_for("its folders are made", lambda: os.path.isdir(f"{attempt}/1"))
        kill_agent(other)
        slow.wait_for_output("1 of at least 2 nodes are left")
        shutil.rmtree(f"{attempt}/1")
        os.close(os.open(f"{attempt}/0/stdout.log", os.O_RDONLY | os.O_NONBLOCK))
        third = job.start()
        for node in (third, slow):
            holds(node, 4, after=number)


def stopped_terminal():
    """A terminal that was stopped with Ctrl-S for longer than `dead`: nobody is evicted, and the job ends when it goes on."""
    leader, follower = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        talk = f"while [ ! -e {folder}/go ]; do echo some words of rank $$RANK; sleep 0.01; done; echo done > {folder}/done.$$RANK"
        with Job("--nnodes=2", "--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=2", script=talk) as job:
            other = job.start()
            stopped = job.start(console=follower)
            wait_for("its workers talk", lambda: b"some words" in os.read(leader, 4096))
            termios.tcflow(follower, termios.TCOOFF)
            let_pass(4)
            for node in (other, stopped):
                assert node.popen.poll() is None, other.output()
            open(f"{folder}/go", "w", encoding="ascii").close()
            wait_for("no worker is held up", lambda: all(os.path.exists(f"{folder}/done.{rank}") for rank in range(4)))
            termios.tcflow(follower, termios.TCOON)
            os.set_blocking(leader, False)
            wait_for("both end", lambda: drained(leader) and all(node.popen.poll() is not None for node in (other, stopped)))
            expect(other.wait(), 0, other)
            assert stopped.wait() == 0
    os.close(leader)
    os.close(follower)


TALK = ("i=0; while [ $i -lt 60000 ]; do echo line $RANK $i ----------------------------------------------------------------------; "
        "i=$((i+1)); done; echo done > FOLDER/done.$RANK")


class StoppedTerminal:
    """muster on a terminal that is stopped with Ctrl-S before it says a word; two workers with some 10 MB each."""

    def __init__(self, folder, *options):
        self.leader, self.follower = pty.openpty()
        tty.setraw(self.follower)
        termios.tcflow(self.follower, termios.TCOOFF)
        self.folder = folder
        command = [binary("muster"), "run", "--nproc-per-node=2", "--no-python", *options, "/bin/sh", "-c", TALK.replace("FOLDER", folder)]
        self.muster = Process(command, console=self.follower)

    def are_done(self):
        return all(os.path.exists(f"{self.folder}/done.{rank}") for rank in range(2))

    def read_on(self):
        """Everything that it then says, and its exit status."""
        termios.tcflow(self.follower, termios.TCOON)
        os.set_blocking(self.leader, False)
        said = bytearray()

        def read():
            ended = self.muster.popen.poll() is not None
            try:
                while True:
                    said.extend(os.read(self.leader, 1 << 16))
            except BlockingIOError:
                return ended
        wait_for("it ends", read, 60)
        return said.decode(errors="replace"), self.muster.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.muster.__exit__(*error)
        os.close(self.leader)
        os.close(self.follower)


def numbers_of(said, rank):
    return [int(number) for number in re.findall(rf"line {rank} (\d+) -+$", said.replace("\r", ""), re.M)]


def stall_drop():
    """No worker is held up; what is missing is said where it is missing, and in sum at the end."""
    with tempfile.TemporaryDirectory() as folder, StoppedTerminal(folder) as stopped:
        wait_for("no worker is held up", stopped.are_done, 60)
        said, status = stopped.read_on()
        assert status == 0, status
        assert re.search(r"\[muster: \d+ lines \(\d+ bytes\) were dropped here", said), said[-2000:]
        total = int(re.search(r"muster: (\d+) lines \(\d+ bytes\) of output in all could not be written", said).group(1))
        assert len(numbers_of(said, 0)) + len(numbers_of(said, 1)) + total == 120_000


def stall_block():
    """The workers are held up until somebody reads, and nothing is lost."""
    with tempfile.TemporaryDirectory() as folder, StoppedTerminal(folder, "--log-stall=block") as stopped:
        let_pass(4)
        assert not stopped.are_done()
        said, status = stopped.read_on()
        assert status == 0, status
        assert stopped.are_done()
        for rank in range(2):
            assert numbers_of(said, rank) == list(range(60_000)), said[-2000:]


def stall_stop():
    """A log file that takes nothing ends the job, which says which one."""
    with tempfile.TemporaryDirectory() as folder:
        script = ("RUN=${TORCHELASTIC_ERROR_FILE%/attempt_*}; LOG=$RUN/attempt_1/0/stdout.log; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || "
                  f"{{ mkdir -p $RUN/attempt_1/0; mkfifo $LOG; echo $LOG > {folder}/name; exit 1; }}; exec yes some words of a worker")
        command = [binary("muster"), "run", "--log-stall=stop", "--max-restarts=1", "--tee=1", f"--log-dir={folder}", "--no-python",
                   "/bin/sh", "-c", script]
        with Process(["/bin/sh", "-c", 'exec "$@" > /dev/null', "sh", *command]) as muster:  # stdout has the words, too
            wait_for("the first attempt is over", lambda: os.path.exists(f"{folder}/name") and os.path.getsize(f"{folder}/name"))
            with open(f"{folder}/name", encoding="ascii") as file:
                name = file.read().strip()
            reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)  # and never reads
            expect(muster.wait(60), 1, muster)
            os.close(reader)
            assert f"log file '{name}' takes no more output, and --log-stall=stop was given" in muster.output(), muster.output()


def stall_after_the_end():
    """A console that takes nothing while the last words are written ends nothing any more: the job was over, and succeeded."""
    # More than the console's pipe and muster's queue hold, and little enough that the worker is not held up.
    script = "[ $RANK = 1 ] || head -c 4240000 /dev/zero | tr '\\0' x | fold -w 99"
    command = [binary("muster"), "run", "--standalone", "--nproc-per-node=2", "--log-stall=stop", "--no-python", "/bin/sh", "-c", script]
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/console")
        reader = os.open(f"{folder}/console", os.O_RDONLY | os.O_NONBLOCK)  # and never reads
        with Process(["/bin/sh", "-c", f'exec "$@" > {folder}/console', "sh", *command]) as muster:
            expect(muster.wait(60), 0, muster)
            assert "of output in all could not be written" in muster.output(), muster.output()
        os.close(reader)


def drained(fd):
    """Reads away what is there."""
    try:
        while os.read(fd, 65536):
            pass
    except BlockingIOError:
        pass
    return True


CASES = {
    "hung_log_folder": hung_log_folder,
    "round_stopped_meanwhile": round_stopped_meanwhile,
    "stall_drop": stall_drop,
    "stall_block": stall_block,
    "stall_stop": stall_stop,
    "stall_after_the_end": stall_after_the_end,
    "stopped_terminal": stopped_terminal,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        CASES[case]()
        print(f"{case}: as it should be", flush=True)
