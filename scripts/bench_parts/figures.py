# SPDX-License-Identifier: Apache-2.0
"""Figures: a line each, with its bar; for many trials their quantiles and a histogram. And the machine they were measured on."""

import json
import math
import os
import platform
import re
import sys

HISTOGRAM_ROWS = 8
HISTOGRAM_WIDTH = 40
QUANTILES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def quantile(values, share):
    """The smallest value that at least this share of all values do not exceed: one that was measured, never one between two."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def histogram(values):
    """(from, to, how many) of rows that each grow by the same factor: a tail is seen as well as the bulk."""
    least, most = min(values), max(values)
    if least <= 0 or least == most:
        return [(least, most, len(values))]
    factor = (most / least) ** (1 / HISTOGRAM_ROWS)
    counts = [0] * HISTOGRAM_ROWS
    for value in values:
        counts[min(HISTOGRAM_ROWS - 1, int(math.log(value / least) / math.log(factor)))] += 1
    return [(least * factor ** row, least * factor ** (row + 1), count) for row, count in enumerate(counts)]


class Figures:
    def __init__(self, as_json):
        self.as_json, self.missed = as_json, []

    def add(self, name, value, unit, n, most=None, least=None, **more):
        """One figure; `most` or `least` is its bar. `more` goes into its line of JSON."""
        figure = {"name": name, "value": round(value, 4), "unit": unit, "n": n, **more}
        mark = ""
        if most is not None or least is not None:
            figure["bar"] = f"<= {most:g}" if most is not None else f">= {least:g}"
            figure["ok"] = value <= most if most is not None else value >= least
            mark = f"   bar {figure['bar']}: {'met' if figure['ok'] else 'MISSED'}"
            if not figure["ok"]:
                self.missed.append(name)
        if self.as_json:
            print(json.dumps(figure), flush=True)
        else:
            print(f"  {name:<56} {value:>10.4g} {unit:<8} n={n}{mark}", flush=True)

    def spread(self, name, values, unit, most=None):
        """What many trials gave: their p99 is the figure and has the bar; all quantiles and the histogram beside it."""
        quantiles = {label: round(quantile(values, share), 4) for label, share in QUANTILES.items()}
        rows = [[round(low, 4), round(high, 4), count] for low, high, count in histogram(values)]
        self.add(f"{name}: p99", quantile(values, QUANTILES["p99"]), unit, len(values), most=most,
                 quantiles=quantiles, histogram=rows)
        if self.as_json:
            return
        print("    " + ", ".join(f"{label} {value:.4g}" for label, value in quantiles.items()))
        fullest = max(count for _, _, count in rows)
        for low, high, count in rows:
            print(f"    {low:>8.4g} - {high:<8.4g} {'#' * math.ceil(HISTOGRAM_WIDTH * count / fullest):<{HISTOGRAM_WIDTH}} {count}")
        sys.stdout.flush()

    def title(self, text):
        if not self.as_json:
            print(text, flush=True)


def note(text):
    """What is no figure: what was left out, what hung."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def machine():
    """The machine in a line: what the figures were measured on."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.read().split()[1]) / 1048576
    with open("/proc/loadavg", encoding="utf-8") as file:
        load = file.read().split()[0]
    return {"cpu": model.group(1) if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory, 1), "kernel": platform.release(), "load": float(load)}
