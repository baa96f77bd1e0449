#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""muster in a cgroup that was once killed as a whole (cgroup.kill), as a container that was started again in the same one: newer
kernels kill whoever is born in a cgroup below it. Its workers live all the same, and one line at most says what they miss."""

import contextlib
import os

from muster_case import Process, binary, skip


def mount_point():
    with open("/proc/mounts", encoding="utf-8") as file:
        return next((fields[1] for fields in map(str.split, file) if fields[2] == "cgroup2"), None)


@contextlib.contextmanager
def killed_cgroup():
    mount = mount_point()
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        own = next((line[3:].strip() for line in file if line.startswith("0::")), None)
    if mount is None or own is None:
        skip("no cgroup v2 here")
    path = f"{mount}{own.rstrip('/')}/test-killed-{os.getpid()}"
    try:
        os.mkdir(path)
    except OSError as error:
        skip(f"no cgroup can be made here: {error}")
    try:
        if not os.path.exists(f"{path}/cgroup.kill"):
            skip("this kernel has no cgroup.kill")
        put(f"{path}/cgroup.kill", "1")
        yield path
    finally:
        os.rmdir(path)


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main():
    with killed_cgroup() as path:
        inside = f'echo $$ > {path}/cgroup.procs; exec "$@"'
        command = ["/bin/sh", "-c", inside, "sh", binary("muster"), "run", "--nproc-per-node=3", "--no-python", "/bin/true"]
        with Process(command) as muster:
            assert muster.wait() == 0, muster.output()
            lines = [line for line in muster.output().splitlines() if "cgroup" in line]
            assert len(lines) <= 1, lines
    print("workers live in a cgroup that was killed once")


if __name__ == "__main__":
    main()
