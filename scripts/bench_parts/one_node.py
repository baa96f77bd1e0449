# SPDX-License-Identifier: Apache-2.0
"""launch, memory, restart: one node, muster beside torchrun, Open MPI and MPICH."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from bench_parts.figures import note
from bench_parts.programs import MUSTER, QUIET, ROOT, TORCHRUN, has_torch

HUNG_SECONDS = 15
HUNG_AT_MOST = 3  # a peer that hung so often is left alone


def launchers(count, peers):
    """Name -> command that starts /bin/true on `count` workers."""
    found = {"muster": [MUSTER, "run", "--standalone", f"--nproc-per-node={count}", "--no-python", "/bin/true"]}
    if not peers:
        return found
    if has_torch():
        found["torchrun"] = [TORCHRUN, "--standalone", f"--nproc-per-node={count}", "--no-python", "/bin/true"]
    if shutil.which("mpirun.openmpi"):
        found["openmpi"] = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(count), "/bin/true"]
    if shutil.which("mpiexec.mpich"):
        found["mpich"] = ["mpiexec.mpich", "-n", str(count), "/bin/true"]
    return found


def timed(command):
    """Seconds until the command ended; None where it hung (Open MPI does, now and then, when workers end at once)."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, start_new_session=True, **QUIET)
    try:
        status = process.wait(HUNG_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if command[0] == MUSTER:
            raise SystemExit(f"bench: {' '.join(command)} hung") from None
        return None
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)} exited with {status}")
    return seconds


def launch(figures, options):
    figures.title("launching /bin/true")
    bars = {1: {"torchrun": 1 / 20, "openmpi": 1.0, "mpich": 1.5}, 8: {"torchrun": 1 / 20, "openmpi": 1.0, "mpich": 1.0}}
    bars[32] = bars[8]
    for count in (1, 8, 32):
        commands = launchers(count, options.peers)
        times = {name: [] for name in commands}
        slow = max(1, options.reps // 5)  # torchrun takes seconds: fewer of it
        for repetition in range(options.reps):
            for name, command in commands.items():
                if (name != "torchrun" or repetition < slow) and times[name].count(None) < HUNG_AT_MOST:
                    times[name].append(timed(command))
        for name in list(times):
            hung = times[name].count(None)
            if hung:
                note(f"{name} with {count} workers hung {hung} of {len(times[name])} times")
            times[name] = [t for t in times[name] if t is not None]
            if not times[name]:
                del times[name]
        ours = statistics.median(times["muster"])
        for name, each in times.items():
            figures.add(f"launch {count} workers: {name}", statistics.median(each) * 1e3, "ms", len(each))
        for name in times:
            if name != "muster":
                figures.add(f"launch {count} workers: muster / {name}", ours / statistics.median(times[name]), "x",
                            len(times[name]), most=bars[count][name])


def status_of(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith(field + ":"))


def descendants(pid):
    """Ids below the process: breadth first, so the agent comes before its workers."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents.setdefault(int(status_of(entry, "PPid")), []).append(int(entry))
        except (OSError, StopIteration):
            continue
    found = [pid]
    for parent in found:
        found += sorted(parents.get(parent, []))
    return found[1:]


def memory(figures, options):
    figures.title("resident memory while one worker runs")
    command = [MUSTER, "run", "--standalone", "--nproc-per-node=1", "--no-python", "sleep", "60"]
    process = subprocess.Popen(command, **QUIET)
    try:
        end = time.monotonic() + 20
        below = []
        while time.monotonic() < end and not any(status_of(p, "Name") == "sleep" for p in below):
            time.sleep(0.01)
            below = descendants(process.pid)
        guardian = int(status_of(process.pid, "VmRSS")) / 1024
        agent = int(status_of(below[0], "VmRSS")) / 1024
    finally:
        process.terminate()
        process.wait(30)
    figures.add("memory: guardian", guardian, "MB", 1, most=4)
    figures.add("memory: guardian and agent", guardian + agent, "MB", 1, most=20)


def restart(figures, options):
    figures.title("SIGKILL of one of 8 shell workers until all 8 of the next attempt run")
    script = os.path.join(ROOT, "tests", "labs", "bench", "restart_time.py")
    commands = {"muster": [MUSTER, "run"]}
    if options.peers and has_torch():
        commands["torchrun"] = [TORCHRUN]
    medians = {}
    for name, command in commands.items():
        call = [sys.executable, script, str(options.reps), "8", "sh", "--", *command, "--standalone"]
        done = subprocess.run(call, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = re.search(r"new up min (\d+) median (\d+) max (\d+) ms", done.stdout)
        if not found:
            raise SystemExit(f"bench: {' '.join(call)}:\n{done.stdout}")
        medians[name] = float(found.group(2))
        figures.add(f"restart: {name}, median", medians[name], "ms", options.reps)
        bar = {"most": 100} if name == "muster" and options.reps > 1 else {}
        figures.add(f"restart: {name}, maximum", float(found.group(3)), "ms", options.reps, **bar)
    if len(medians) == 2:
        figures.add("restart: muster / torchrun", medians["muster"] / medians["torchrun"], "x", options.reps, most=0.4)
