# SPDX-License-Identifier: Apache-2.0
"""What the tests of `muster run` share: one node's job on real processes, its output apart, and who is left of it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from muster_case import binary, processes_with, wait_for


class Job:
    """`muster run ARGS`, stdout and stderr in files of their own. Every process of it carries a mark in its environment."""

    def __init__(self, args, env=None, stdin=subprocess.DEVNULL, stdout=None, stderr=None, name=None, preexec=None):
        self.folder = tempfile.mkdtemp(prefix="muster-launch-")
        self.mark = f"MUSTER_TEST_MARK={os.path.basename(self.folder)}"
        environment = dict(os.environ)
        for key in [k for k in environment if k.startswith(("PET_", "TORCHELASTIC_"))] + ["OMP_NUM_THREADS", "LOGLEVEL"]:
            environment.pop(key, None)
        environment.update(TMPDIR=self.folder, MUSTER_TEST_MARK=os.path.basename(self.folder), D=self.folder)
        environment.update(env or {})
        self.out, self.err = os.path.join(self.folder, "out"), os.path.join(self.folder, "err")
        command = [name] if name else [binary("muster"), "run"]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.popen = subprocess.Popen(command + [str(a) for a in args], env=environment, stdin=stdin,
                                          stdout=out if stdout is None else stdout,
                                          stderr=err if stderr is None else stderr,
                                          start_new_session=True, preexec_fn=preexec, cwd=self.folder)
        self.pid = self.popen.pid

    def agent(self):
        """The agent's process: the guardian's only child."""
        def child():
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
                return file.read().split()
        return int(wait_for("the agent", child)[0])

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stdout(self):
        return self.read("out")

    def stderr(self):
        return self.read("err")

    def own_lines(self):
        return [line for line in self.stderr().splitlines() if line.startswith("muster: ")]

    def wait_for_file(self, name, seconds=20.0):
        """Waits until the file exists and is not empty, returns its text."""
        path = os.path.join(self.folder, name)
        try:
            wait_for(name, lambda: os.path.exists(path) and os.path.getsize(path) > 0, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.stderr()}") from None
        return self.read(name)

    def wait(self, seconds=30.0):
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {seconds} s:\n{self.stderr()}") from None

    def survivors(self):
        return [pid for pid in processes_with(self.mark) if pid != os.getpid()]

    def expect_nobody_left(self, seconds=5.0):
        wait_for("every process of the job is gone", lambda: not self.survivors(), seconds)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print(f"--- stdout\n{self.stdout()}\n--- stderr\n{self.stderr()}", file=sys.stderr)
        for pid in self.survivors():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.popen.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def shell_job(nproc, script, *options, **more):
    """A job of shell workers. torchrun's rule for arguments holds: the script's own "$$" must be written "$$$$"."""
    return Job(["--standalone", f"--nproc-per-node={nproc}", *options, "--no-python", "sh", "-c", script], **more)


def run_cases(cases):
    """Runs every function of the module whose name starts with test_, in order, and says what each took."""
    for name, case in list(cases.items()):
        if name.startswith("test_"):
            begin = time.monotonic()
            case()
            print(f"ok   {name[5:].replace('_', ' ')} ({time.monotonic() - begin:.1f} s)", flush=True)
