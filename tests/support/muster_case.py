# SPDX-License-Identifier: Apache-2.0
"""What the Python tests of integration and interop share: where programs are, processes with logs, waits with a deadline, skips.

    from muster_case import Process, binary, skip, wait_for
    with Process([binary("musterd"), "--port", "0"]) as daemon:
        port = daemon.wait_for_output(r"port (\\d+)").group(1)

Nothing here sleeps for a fixed time: a test waits for a line or a state, and a deadline turns a hang into a failure that shows the logs.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE_DIR = os.environ.get("MUSTER_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN_DIR = os.environ.get("MUSTER_BIN_DIR") or os.path.join(SOURCE_DIR, "build", "release", "bin")
TORCH_DIR = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "muster", "torch")


def skip(reason):
    """Ends the test program as skipped. Say what is missing and what brings it."""
    print(f"SKIP: {reason}", flush=True)
    sys.exit(77)


def binary(name):
    path = os.path.join(BIN_DIR, name)
    if not os.access(path, os.X_OK):
        raise SystemExit(f"{path} is not there: scripts/build makes it")
    return path


def torch_program(name="python"):
    """python, torchrun, ... of the PyTorch that `scripts/setup --with-peers` installs; skips where it is not."""
    path = os.path.join(TORCH_DIR, "bin", name)
    if not os.path.exists(os.path.join(TORCH_DIR, ".ready")) or not os.access(path, os.X_OK):
        skip("PyTorch is not installed (scripts/setup --with-peers)")
    return path


def wait_for(what, condition, seconds=20.0):
    """Waits until condition() is true and returns its value; fails with `what` after the deadline."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.005)


def let_pass(seconds):
    """The length of the pause is what is tested: nothing is to happen meanwhile, or somebody is to miss a sign of life."""
    time.sleep(max(0.0, seconds))


class Process:
    """A program whose stdout and stderr go to one file, or to `console`. Leaving the with block ends it and all of its process group."""

    def __init__(self, command, env=None, cwd=None, stdin=subprocess.DEVNULL, extra_env=None, console=None):
        self.command = [str(part) for part in command]
        self.log = tempfile.NamedTemporaryFile(mode="w+b", prefix="muster-test-", suffix=".log", delete=False)
        environment = dict(os.environ if env is None else env)
        environment.update(extra_env or {})
        self.popen = subprocess.Popen(self.command, stdin=stdin, stdout=console or self.log, stderr=subprocess.STDOUT, env=environment,
                                      cwd=cwd, start_new_session=True)
        self.pid = self.popen.pid

    def output(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_output(self, pattern, seconds=20.0):
        """The first match of the pattern in what it wrote."""
        def look():
            found = re.search(pattern, self.output(), re.M)
            if found is None and self.popen.poll() is not None and not re.search(pattern, self.output(), re.M):
                raise AssertionError(f"{self.command[0]} ended with {self.popen.returncode} before it wrote {pattern!r}:\n{self.output()}")
            return found
        try:
            return wait_for(pattern, look, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- output of {' '.join(self.command)}\n{self.output()}") from None

    def wait(self, seconds=30.0):
        """Its exit status (negative: died of a signal)."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{' '.join(self.command)} still runs after {seconds} s:\n{self.output()}") from None

    def signal(self, number):
        os.kill(self.pid, number)

    def close(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.wait()
        self.log.close()
        if os.path.exists(self.log.name):
            os.unlink(self.log.name)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and not issubclass(kind, SystemExit):
            print(f"--- output of {' '.join(self.command)}\n{self.output()}", file=sys.stderr)
        self.close()


def run(command, seconds=60.0, **options):
    """Runs the command to its end; (exit status, output)."""
    with Process(command, **options) as process:
        status = process.wait(seconds)
        return status, process.output()


def processes_with(text, command=""):
    """Ids of the live (not zombie) processes whose environment or command line contains the text, and whose command line begins with
    `command`: who survived a job?"""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    continue
            data = b""
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if not file.read().startswith(command.encode()):
                    continue
            for name in ("environ", "cmdline"):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    data += file.read()
        except OSError:
            continue
        if text.encode() in data and int(pid) != os.getpid():
            found.append(int(pid))
    return found


class Hosts:
    """Hosts h1..hN in network namespaces (tests/labs/nethosts.sh), addresses 10.77.0.1..N; skips where they are refused."""

    def __init__(self, count):
        self.count = count
        self.script = os.path.join(SOURCE_DIR, "tests", "labs", "nethosts.sh")
        self.environment = {**os.environ, "NETHOSTS_LAB": f"t{os.getpid() % 100000}"}

    def call(self, *arguments):
        return subprocess.run([self.script, *map(str, arguments)], env=self.environment, check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def command(self, host, *command):
        """The command that runs `command` on the host, as the same process."""
        return ["env", f"NETHOSTS_LAB={self.environment['NETHOSTS_LAB']}", self.script, "exec", host, *map(str, command)]

    def bring_up(self):
        """Makes the hosts; why they are refused here, or None."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        if not shutil.which("ip"):
            return "iproute2 is not installed (scripts/setup --with-peers)"
        done = self.call("up", self.count)
        if done.returncode == 0:
            return None
        self.call("down")
        return f"network namespaces are refused here: {done.stdout.strip().splitlines()[-1:]}"

    def __enter__(self):
        refused = self.bring_up()
        if refused:
            skip(refused)
        return self

    def __exit__(self, *_):
        self.call("down")
