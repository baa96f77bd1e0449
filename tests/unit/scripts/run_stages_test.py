# SPDX-License-Identifier: Apache-2.0
"""The stages of scripts/test count what CTest says: passed, failed, skipped with the reason; and go on after a failure."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

from wrong_tree import ROOT

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import run_stages  # noqa: E402

RESULTS = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x">
  <testcase name="good" status="run"><system-out>fine</system-out></testcase>
  <testcase name="bad" status="fail"><failure message=""/><system-out>it broke here</system-out></testcase>
  <testcase name="absent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>hi
SKIP: no torch &amp; no time
</system-out></testcase>
  <testcase name="unbuilt" status="notrun"><skipped message="Unable to find executable"/><system-out/></testcase>
</testsuite>
"""


class RunStages(unittest.TestCase):
    def setUp(self):
        self.log = io.StringIO()
        self.tally = run_stages.Tally(self.log)

    def stage(self, name, body):
        with contextlib.redirect_stdout(io.StringIO()):
            self.tally.stage(name, body)

    def test_cases_are_counted_and_skips_keep_their_reason(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(RESULTS)
            file.flush()
            shown = []
            self.assertEqual(run_stages.count_cases(self.tally, shown, "release", file.name), 4)
        self.assertEqual((self.tally.passed, self.tally.failed), (1, 2))
        self.assertEqual(self.tally.failures, ["release: bad", "release: unbuilt"])
        self.assertEqual(self.tally.skips, [("release: absent", "no torch & no time")])
        self.assertIn("it broke here", "\n".join(shown))

    def test_a_failed_stage_says_so_and_the_next_one_runs(self):
        def bad(shown):
            self.tally.fail("build")
            shown.append("    error: no such thing")
            return "note"
        self.stage("first", bad)
        self.stage("second", lambda shown: "note")
        lines = self.log.getvalue().splitlines()
        self.assertRegex(lines[0], r"^first +FAILED +[\d.]+ s +note$")
        self.assertEqual(lines[1], "    error: no such thing")
        self.assertRegex(lines[2], r"^second +ok +[\d.]+ s +note$")

    def test_a_build_beside_other_stages_is_shown_with_its_own_time(self):
        self.stage("b: build", lambda shown: run_stages.build(self.tally, shown, "b", (0, "", 12.0)))
        self.stage("c: build", lambda shown: run_stages.build(self.tally, shown, "c", (1, "error: x", 3.0)))
        lines = self.log.getvalue().splitlines()
        self.assertRegex(lines[0], r"^b: build +ok +12\.0 s +build/b$")
        self.assertRegex(lines[1], r"^c: build +FAILED +3\.0 s +build/c$")
        self.assertEqual(lines[2], "    error: x")
        self.assertEqual(self.tally.failures, ["build c"])


unittest.main()
