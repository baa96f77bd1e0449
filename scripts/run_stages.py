# SPDX-License-Identifier: Apache-2.0
"""The stages of scripts/test, which calls this after scripts/setup: run_stages.py full|quick SETUP_STATUS SETUP_SECONDS.

Every stage runs, whatever failed before it. Counted are the tests that CTest ran in each build, the checks, the fuzz targets, and
each setup or build that failed. Integration and interop tests mostly wait: the sanitizer builds go on beside them, at the lowest
priority, and a line with a build's time says how long the build took, not how long it was waited for.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build", "test-logs")
CHECKS = ["format", "layers", "await", "sizes", "tests", "links", "headers"]
FUZZ_SECONDS = 30
CORES = os.cpu_count() or 2
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


class Tally:
    def __init__(self, log):
        self.passed = self.failed = 0
        self.skips = []  # (name, reason)
        self.failures = []  # names
        self.log = log

    def say(self, text):
        print(text, flush=True)
        print(text, file=self.log, flush=True)

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def stage(self, name, body):
        """Runs body(shown) -> note, or (note, seconds); prints the line of the stage, and what failed in it."""
        begin, failed, shown = time.monotonic(), self.failed, []
        note = body(shown)
        note, seconds = note if isinstance(note, tuple) else (note, time.monotonic() - begin)
        result = "ok" if self.failed == failed else "FAILED"
        self.say(f"{name:<32} {result:<6} {seconds:7.1f} s   {note}")
        for text in shown:
            self.say(text)


def run(log_name, command, **options):
    """Runs the command with its output in a log; (exit status, output)."""
    environment = {**os.environ, **SANITIZERS, "PYTHONDONTWRITEBYTECODE": "1"}
    path = os.path.join(LOGS, log_name)
    with open(path, "w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, **options)
    with open(path, encoding="utf-8", errors="replace") as log:
        return done.returncode, log.read()


def tail(text, lines):
    kept = text.rstrip().splitlines()[-lines:]
    return "\n".join("    " + line for line in kept)


def without_aslr(preset):
    """GCC 12's TSan stops where a kernel spreads mappings wider than it knows: such programs run without randomization."""
    able = subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 \
        if shutil.which("setarch") else False
    return ["setarch", "-R"] if preset == "tsan" and able else []


def checks(tally, shown):
    for name in CHECKS:
        status, output = run(f"check_{name}.log", [f"scripts/check_{name}"])
        if status == 0:
            tally.passed += 1
        else:
            tally.fail(f"check_{name}")
            shown.append(tail(output, 40))
    return f"{len(CHECKS)} checks"


def compiled(preset, targets, priority=()):
    """(exit status, output, seconds) of a build."""
    begin = time.monotonic()
    command = [*priority, *without_aslr(preset), "scripts/build", preset, *(["--", *targets] if targets else [])]
    return (*run(f"{preset}-build.log", command), time.monotonic() - begin)


def build(tally, shown, preset, result):
    status, output, seconds = result
    if status != 0:
        tally.fail(f"build {preset}")
        shown.append(tail(output, 60))
    return f"build/{preset}", seconds


def reason_of(case, output):
    reasons = [line.split("SKIP:", 1)[1].strip() for line in output.splitlines() if "SKIP:" in line]
    skipped = case.find("skipped")
    told = skipped.get("message", "") if skipped is not None else ""
    return reasons[-1] if reasons else told or "no reason given"


def count_cases(tally, shown, preset, junit):
    """Reads CTest's result file; the number of tests in it."""
    cases = xml.parse(junit).getroot().findall("testcase")
    told = 0
    for case in cases:
        name, status = f"{preset}: {case.get('name')}", case.get("status")
        output = case.findtext("system-out") or ""
        if status == "run":
            tally.passed += 1
        elif status in ("notrun", "disabled") and "SKIP" in output + (xml.tostring(case, encoding="unicode")):
            tally.skips.append((name, reason_of(case, output)))
        else:
            tally.fail(name)
            told += 1
            shown.append(f"  {name}: {status}" + ("\n" + tail(output, 60) if told <= 8 else ""))
    return len(cases)


# Interop tests run other people's launchers, process groups and servers, which now and then fail by themselves: those get a
# second try, and the stage's line says how many needed it. Our own tests never do.
SECOND_TRY = {"interop": ["--repeat", "until-pass:2"]}
FAILED_TRY = re.compile(r"\*\*\*(Failed|Timeout|Exception)")


def tests(tally, shown, preset, labels, jobs):
    part = f"{preset}-{labels.replace('|', '-')}"
    junit = os.path.join(LOGS, f"{part}.xml")
    command = [*without_aslr(preset), "ctest", "--test-dir", f"build/{preset}", "-L", f"^({labels})$", "-j", str(jobs),
               "--output-on-failure", "--no-tests=error", "--output-junit", junit, "--test-output-truncation", "head",
               "--test-output-size-passed", "20000", "--test-output-size-failed", "200000", *SECOND_TRY.get(labels, [])]
    failed = tally.failed
    status, output = run(f"{part}.log", command)
    try:
        count = count_cases(tally, shown, preset, junit)
    except (OSError, xml.ParseError) as error:
        count, output = 0, f"{output}\n{junit}: {error}"
        status = status or 1
    if status != 0 and tally.failed == failed:
        tally.fail(f"ctest {part}")
        shown.append(tail(output, 30))
    if labels not in SECOND_TRY:
        return f"{count} tests"
    again = len(FAILED_TRY.findall(output)) - 2 * (tally.failed - failed)  # who failed failed twice
    return f"{count} tests" + (f", {again} of them at the second try" if again > 0 else "")


def fuzz(tally, shown):
    with open(os.path.join(ROOT, "build/clang/fuzz/targets.txt"), encoding="utf-8") as file:
        targets = [line.split() for line in file if line.strip()]
    seconds = max(2, FUZZ_SECONDS * CORES // max(1, len(targets)))

    def one(target):
        name, corpus = target
        grown = os.path.join(LOGS, "fuzz", name)
        os.makedirs(grown, exist_ok=True)
        return name, run(f"fuzz-{name}.log", [
            f"build/clang/fuzz/{name}", f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
            f"-artifact_prefix={grown}/crash-", grown, corpus])

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for name, (status, output) in pool.map(one, targets):
            if status == 0:
                tally.passed += 1
            else:
                tally.fail(f"fuzz {name}")
                shown.append(f"  {name}:\n" + tail(output, 40))
    return f"{len(targets)} targets, {seconds} s each"


def sanitizers(tally):
    """The release's longer tests, and the builds with sanitizers and their tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as builder:
        builds = {
            preset: builder.submit(compiled, preset, ["unit_tests"] + (["fuzzers"] if preset == "clang" else []), ["nice", "-n", "19"])
            for preset in ("asan", "tsan", "clang")}
        for label in ("integration", "interop"):
            tally.stage(f"release: {label} tests", lambda shown, part=label: tests(tally, shown, "release", part, 1))
        for preset, result in builds.items():
            tally.stage(f"{preset}: build", lambda shown, p=preset, r=result: build(tally, shown, p, r.result()))
            tally.stage(f"{preset}: unit tests", lambda shown, p=preset: tests(tally, shown, p, "unit|sim", CORES))
    tally.stage("clang: fuzz", lambda shown: fuzz(tally, shown))


def main():
    kind, setup_status, setup_seconds = sys.argv[1:]
    tally = Tally(open(os.path.join(LOGS, "log.txt"), "w", encoding="utf-8"))
    begin = time.monotonic() - float(setup_seconds)
    if setup_status != "0":
        tally.fail("setup")
    tally.say(f"{'setup':<32} {'ok' if setup_status == '0' else 'FAILED':<6} {float(setup_seconds):7.1f} s")
    tally.stage("checks", lambda shown: checks(tally, shown))
    tally.stage("release: build", lambda shown: build(tally, shown, "release", compiled("release", [])))
    tally.stage("release: unit tests", lambda shown: tests(tally, shown, "release", "unit|sim", CORES))
    if kind == "full":
        sanitizers(tally)
    for name, reason in tally.skips:
        tally.say(f"skipped: {name}: {reason}")
    for name in tally.failures:
        tally.say(f"failed: {name}")
    tally.say(f"all of it took {(time.monotonic() - begin) / 60:.1f} min; the logs are in build/test-logs")
    tally.say(f"{tally.passed} passed, {tally.failed} failed, {len(tally.skips)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
