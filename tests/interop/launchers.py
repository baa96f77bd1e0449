# SPDX-License-Identifier: Apache-2.0
"""The same program under torchrun and under `muster run`, on one node or on two: what the interop tests share.

Two nodes are hosts in network namespaces; where those are refused, two agents on this machine.
"""

import contextlib
import os
import re
import shutil
import socket
import tempfile
import time

from muster_case import SOURCE_DIR, TORCH_DIR, Hosts, Process, binary, torch_program

PROGRAMS = os.path.join(SOURCE_DIR, "tests", "interop", "programs")
DIGITS = os.path.join(SOURCE_DIR, "tests", "data", "mnist10k")
LAUNCHERS = ("torchrun", "muster run")


def command_of(launcher):
    return [torch_program("torchrun")] if launcher == "torchrun" else [binary("muster"), "run"]


def environment(interface):
    """As in an activated virtual environment: torchrun is in it, muster finds its Python by VIRTUAL_ENV."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PET_", "PYTHON", "TORCHELASTIC_"))}
    env.update(VIRTUAL_ENV=TORCH_DIR, PATH=os.path.join(TORCH_DIR, "bin") + ":" + os.environ["PATH"],
               GLOO_SOCKET_IFNAME=interface, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    return env


def free_port():
    """For agents on one machine; in a namespace of its own every port is free."""
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def unless_torch_aborts(start):
    """What start() returns: (exit codes, output). PyTorch's gloo threads now and then abort a process that has finished and is
    on its way out: that run says nothing about the launcher, and is repeated once."""
    codes, output = start()
    if any(codes) and "terminate called without an active exception" in output:
        print("PyTorch aborted on its way out, once more", flush=True)
        return start()
    return codes, output


class TwoNodes:
    """with TwoNodes() as nodes: nodes.start(launcher, options, program) gives two processes."""

    def __init__(self):
        self.hosts = Hosts(2)

    def __enter__(self):
        try:
            with contextlib.redirect_stdout(None):
                self.hosts.__enter__()
        except SystemExit:
            self.hosts = None
        print("two nodes:", "hosts in network namespaces" if self.hosts else "two agents on loopback", flush=True)
        return self

    def __exit__(self, *error):
        if self.hosts:
            self.hosts.__exit__(*error)

    def start(self, launcher, options, program):
        port = 29400 if self.hosts else free_port()
        started = []
        for number in (1, 2):
            address = f"10.77.0.{number}" if self.hosts else "127.0.0.1"
            endpoint = f"10.77.0.1:{port}" if self.hosts else f"127.0.0.1:{port}"
            command = [*command_of(launcher), "--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}",
                       f"--local-addr={address}", "--rdzv-id=interop", *options, *program]
            if self.hosts:
                command = self.hosts.command(f"h{number}", *command)
            started.append(Process(command, env=environment("eth0" if self.hosts else "lo")))
        return started


def finish(processes, seconds):
    """Waits for all; their exit codes and what they wrote, together."""
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        codes = [process.wait(max(0.1, end - time.monotonic())) for process in processes]
        return codes, "".join(process.output() for process in processes)


def one_node(launcher, options, program, seconds=120, without=()):
    """`without`: variables of environment() that this run shall not have."""
    env = {name: value for name, value in environment("lo").items() if name not in without}
    return finish([Process([*command_of(launcher), *options, *program], env=env)], seconds)


def results(output):
    """The lines that programs print about their training."""
    return re.findall(r"^(?:step|epoch|accuracy) .*$", output, re.M)


@contextlib.contextmanager
def scratch():
    folder = tempfile.mkdtemp(prefix="muster-interop-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
