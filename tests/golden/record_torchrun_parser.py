#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What torchrun's own argument parser says: its options, and how it reads command lines.

    record_torchrun_parser.py            write torchrun_flags.json and torchrun_lines.json beside this file
    record_torchrun_parser.py --check    exit 1 if they no longer are what torch says

The unit tests of launcher/cli hold muster's table and normaliser against these files, so that they need no torch;
tests/interop/torchrun_parser.py, run where torch is installed, holds the files against torch. Recorded with PyTorch 2.13 on
CPython 3.11.
"""
import argparse
import contextlib
import io
import json
import os
import random
import sys

import torch
from torch.distributed.run import get_args_parser

# Lines whose reading matters by itself; the others are drawn.
CHOSEN = """s.py
-- s.py
s.py -- x
-- s.py -- x
s.py -- -- x
s.py x -- y
--standalone -- s.py -- x
-1 a
- a
-m -- mod a
-rX s
-r 3 s
-r=3 s
-mr 3 s
-mr3 s
-mh s
-t
--nnodes -- 2 s
--nnodes=2 s
--nnodes= s
--nnodes -1 s
--max-restarts -1 s
--standalone=1 s
--stand s
--role=r --role q s
--rol x s
--master 1 s
--log x s
--log-d x s
--log- x s
--no-p s
--no s
-x s
--unknown s
--nnodes --role s
--nnodes 2
s --help
--help
-h
-help
--he
-m
s --nnodes 3
-- --nnodes 2
--nproc_per_node=4 s
--nproc_per_node 4 s --lr=3 --nproc_per_node 5""".split("\n")

WORDS = ["s.py", "x", "3", "-1", "-", "--", "", "a b", "-x y", "0:3", "-m", "-r", "-t", "-mr", "-t3", "-r=1", "-mt2",
         "--role", "--role=q", "--rol", "--stand", "--nnodes", "--nnodes=1:2", "--rdzv_id", "--rdzv-conf=a=b",
         "--standalone", "--no_python", "--module", "--log-d", "--tee=1", "--max_restarts=2", "--local-addr", "--node-rank=1"]


def parser():
    """torchrun's parser without types and defaults: what was written, as it was written."""
    built = get_args_parser()
    built.prog = "torchrun"
    for action in built._actions:
        action.default = argparse.SUPPRESS
        action.type = None
        action.choices = None
    return built


def flags():
    for name in [n for n in os.environ if n.startswith("PET_")]:
        del os.environ[name]
    rows = []
    for action in get_args_parser()._actions:
        longs = [o for o in action.option_strings if o.startswith("--")]
        if not longs or "--help" in longs:
            continue
        toggle = action.nargs == 0
        dashed = [o for o in longs if "_" not in o]
        kind = "toggle" if toggle else "choice" if action.choices else {int: "integer", float: "real"}.get(action.type, "text")
        rows.append({
            "name": dashed[0][2:],
            "letter": next((o[1] for o in action.option_strings if len(o) == 2), ""),
            "underscored": any("_" in o for o in longs) or "-" not in dashed[0][2:],
            "variable": "PET_" + action.dest.upper() if type(action).__module__.endswith("argparse_util") else "",
            "kind": kind,
            "choices": "|".join(action.choices or []),
            "default": "" if toggle or action.default in (None, []) else str(action.default),
        })
    return rows


def read(words):
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stderr(quiet), contextlib.redirect_stdout(quiet):
            found = vars(parser().parse_args(words))
    except SystemExit as end:
        return {"line": words, "exit": end.code}
    program = found.pop("training_script")
    args = found.pop("training_script_args")
    options = {name.replace("_", "-"): "" if value is True else value for name, value in found.items()}
    return {"line": words, "options": options, "program": program, "args": args}


def lines():
    chance = random.Random(7)
    drawn = [[chance.choice(WORDS) for _ in range(chance.randint(1, 6))] for _ in range(1500)]
    rows = [read(line.split(" ")) for line in CHOSEN]
    # Of the drawn lines those that torchrun accepts: muster may accept more.
    rows += [row for row in map(read, drawn) if "options" in row][:400]
    return rows


def main():
    check = "--check" in sys.argv[1:]
    wrong = []
    for name, rows in (("torchrun_flags.json", flags()), ("torchrun_lines.json", lines())):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
        if not check:
            with open(path, "w") as out:
                out.write(text)
        elif open(path).read() != text:
            wrong.append(name)
    # Other versions of argparse read a few odd lines otherwise; they are not what the recording is about.
    if sys.version_info[:2] != (3, 11):
        wrong = [name for name in wrong if name != "torchrun_lines.json"]
    print(f"torch {torch.__version__}: " + (f"differs from {wrong}" if wrong else "as recorded"))
    return 1 if wrong else 0


sys.exit(main())
