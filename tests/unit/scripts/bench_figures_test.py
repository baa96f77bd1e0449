# SPDX-License-Identifier: Apache-2.0
"""Figures of scripts/bench: quantiles are measured values, histograms count each value once, a bar is met or missed."""

import contextlib
import io
import json
import os
import sys
import unittest

from wrong_tree import ROOT

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from bench_parts.figures import Figures, histogram, quantile  # noqa: E402


def printed(body):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        body()
    return out.getvalue()


class BenchFigures(unittest.TestCase):
    def test_a_quantile_is_the_smallest_value_that_the_share_does_not_exceed(self):
        hundred = list(range(100, 0, -1))
        for share, value in [(0.0, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)]:
            self.assertEqual(quantile(hundred, share), value)
        self.assertEqual(quantile([7, 3], 0.5), 3)
        self.assertEqual(quantile([7, 3], 0.99), 7)  # of few trials, the longest
        self.assertEqual(quantile([5], 0.99), 5)

    def test_a_histogram_counts_every_value_once(self):
        for values in ([1, 2, 3, 1000], [4.0] * 9, [0, 1], [1, 1.0000001], [3]):
            with self.subTest(values):
                rows = histogram(values)
                self.assertEqual(sum(count for _, _, count in rows), len(values))
                self.assertEqual(rows[0][0], min(values))
                self.assertAlmostEqual(rows[-1][1], max(values))

    def test_a_long_tail_leaves_the_bulk_apart(self):
        counts = [count for _, _, count in histogram([1.0] * 50 + [3.0] * 49 + [1000.0])]
        self.assertEqual((counts[0], counts[1], counts[-1]), (50, 49, 1))

    def test_a_missed_bar_is_remembered_by_name(self):
        figures = Figures(as_json=True)
        text = printed(lambda: (figures.add("low", 1.0, "s", 1, most=2), figures.add("high", 3.0, "s", 1, most=2),
                                figures.add("few", 1.0, "/s", 1, least=2), figures.add("free", 9.0, "s", 1)))
        self.assertEqual(figures.missed, ["high", "few"])
        self.assertEqual([json.loads(line).get("ok") for line in text.splitlines()], [True, False, False, None])

    def test_the_p99_of_many_trials_has_the_bar(self):
        figures = Figures(as_json=True)
        figure = json.loads(printed(lambda: figures.spread("x", list(range(1, 101)), "ms", most=99)))
        self.assertEqual((figure["name"], figure["value"], figure["n"], figure["ok"]), ("x: p99", 99, 100, True))
        self.assertEqual(figure["quantiles"], {"min": 1, "p50": 50, "p90": 90, "p99": 99, "max": 100})

    def test_people_see_the_quantiles_and_a_row_for_each_count(self):
        text = printed(lambda: Figures(as_json=False).spread("x", [1.0, 1.0, 8.0], "ms", most=5))
        self.assertRegex(text, r"x: p99 +8 ms +n=3 +bar <= 5: MISSED")
        self.assertIn("min 1, p50 1, p90 8, p99 8, max 8", text)
        self.assertRegex(text, r"1 - 1\.297 +#{40} 2\n")


unittest.main()
