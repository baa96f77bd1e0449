# SPDX-License-Identifier: Apache-2.0
"""The run of scripts/demo: four workers, one killed in epoch 4, and proof of what happened after."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("MUSTER_BIN_DIR") or os.path.join(ROOT, "build", "release", "bin")
WORKERS = 4
KILL_IN_EPOCH = 4
ACCURACY = 94.0
LIMIT_SECONDS = 60.0


def say(text):
    print(f"demo: {text}", flush=True)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def workers(job, attempt):
    """rank -> process id of the live workers of the job (by its log folder, which is in their environment) in this attempt."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        environment = dict(part.split(b"=", 1) for part in read(f"/proc/{pid}/environ").split(b"\0") if b"=" in part)
        if environment.get(b"MUSTER_DEMO") != job.encode() or b"RANK" not in environment:
            continue
        state = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if environment.get(b"TORCHELASTIC_RESTART_COUNT") == str(attempt).encode() and state and state[0] not in (b"Z", b"X"):
            found[int(environment[b"RANK"])] = int(pid)
    return found


class Output:
    """Reads what the job prints, passes it on, and remembers each line with its time."""

    def __init__(self, stream):
        self.lines, self.changed = [], threading.Condition()
        self.ended = False
        threading.Thread(target=self.pump, args=(stream,), daemon=True).start()

    def pump(self, stream):
        for raw in stream:
            line = raw.decode(errors="replace").rstrip("\n")
            print("  | " + line.rsplit("\r", 1)[-1], flush=True)
            with self.changed:
                self.lines.append((time.monotonic(), line))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def find(self, pattern, seconds, first=0):
        """(time, match, index) of the first line from number `first` on that matches; None at the end or after the deadline."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for number in range(first, len(self.lines)):
                    match = re.search(pattern, self.lines[number][1])
                    if match:
                        return self.lines[number][0], match, number
                first = len(self.lines)
                left = end - time.monotonic()
                if self.ended or left <= 0:
                    return None
                self.changed.wait(left)


def wait_for_workers(job, attempt, seconds=20.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = workers(job, attempt)
        if len(found) == WORKERS:
            return time.monotonic(), found
        time.sleep(0.002)
    return None, {}


def run(folder):
    """Runs the job; a list of (what, was it so)."""
    command = [f"{BIN}/muster", "run", "--standalone", f"--nproc-per-node={WORKERS}", "--max-restarts=1", f"--log-dir={folder}/logs",
               "--no-python", f"{BIN}/mnist_ddp", "--data", f"{ROOT}/tests/data/mnist10k", "--checkpoint", f"{folder}/checkpoints"]
    say(" ".join(os.path.relpath(c, ROOT) if c.startswith(ROOT) else c for c in command))
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**os.environ, "MUSTER_DEMO": folder}, start_new_session=True)
    try:
        return follow(process, Output(process.stdout), folder, begin)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


def follow(process, output, folder, begin):
    # An epoch's line comes at its end, after its checkpoint: the one before says that this one has begun.
    reached = output.find(rf"epoch {KILL_IN_EPOCH - 1}/", LIMIT_SECONDS)
    victims = workers(folder, 0)
    if reached is None or len(victims) != WORKERS:
        return [(f"epoch {KILL_IN_EPOCH} was reached with {WORKERS} workers", False)]
    rank = WORKERS - 1
    killed = time.monotonic()
    os.kill(victims[rank], signal.SIGKILL)
    say(f"killed rank {rank} (pid {victims[rank]}) with SIGKILL in epoch {KILL_IN_EPOCH}")
    again, fresh = wait_for_workers(folder, 1)
    resumed = output.find(r"resumed from epoch (\d+)", LIMIT_SECONDS, reached[2])
    accuracy = output.find(r"test accuracy ([\d.]+) %", LIMIT_SECONDS, reached[2])
    status = process.wait(LIMIT_SECONDS)
    seconds = time.monotonic() - begin
    named = output.find(rf"rank {rank} \(.*SIGKILL", 0, reached[2])
    left = {**workers(folder, 0), **workers(folder, 1)}
    percent = float(accuracy[1].group(1)) if accuracy else 0.0
    epoch = int(resumed[1].group(1)) if resumed else -1
    recovery = f"{(again - killed) * 1e3:.0f} ms" if again else "never"
    first_word = f"{(resumed[0] - killed) * 1e3:.0f} ms" if resumed else "never"
    return [
        (f"who died: rank {rank}, pid {victims[rank]}, of SIGKILL" + ("" if named else "; muster did not say so"), bool(named)),
        (f"recovery: {recovery} from the kill to all {WORKERS} new workers running, {first_word} to training again", len(fresh) == WORKERS),
        (f"resumed from epoch {epoch} of the checkpoint", epoch in (KILL_IN_EPOCH - 1, KILL_IN_EPOCH)),
        (f"final test accuracy: {percent:.2f} % (at least {ACCURACY:g} wanted)", percent >= ACCURACY),
        (f"exit status {status}", status == 0),
        (f"no process left behind ({len(left)})", not left),
        (f"{seconds:.1f} s in all (at most {LIMIT_SECONDS:g})", seconds <= LIMIT_SECONDS),
    ]


def main():
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as folder:
        facts = run(folder)
    for what, so in facts:
        say(("ok      " if so else "WRONG   ") + what)
    return 0 if all(so for _, so in facts) else 1


sys.exit(main())
