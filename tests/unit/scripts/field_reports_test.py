# SPDX-License-Identifier: Apache-2.0
"""Every test that tests/field_reports.md names exists, and every row of it names one."""

import os
import re
import unittest

TESTS = os.path.join(os.environ["MUSTER_SOURCE_DIR"], "tests")


def read(*names):
    with open(os.path.join(TESTS, *names), encoding="utf-8") as file:
        return file.read()


def rows():
    """(report, [(file, names)]) of each row."""
    for line in read("field_reports.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.match(r"I\d+$", cells[0]):
            yield cells[0], [re.match(r"`([^`]+)`: (.+)$", part).groups() for part in cells[2].split("<br>")]


def sentences(text):
    """Names of Catch2's tests, which may be written in several pieces."""
    return {"".join(re.findall(r'"((?:[^"\\]|\\.)*)"', pieces)) for pieces in re.findall(r'TEST_CASE\(((?:\s*"(?:[^"\\]|\\.)*")+)', text)}


def cases(file, text):
    names = set(re.findall(r"^def (\w+)\(", text, re.M)) | set(re.findall(r'^    "(\w+)":', text, re.M))
    if not file.endswith("_test.py"):
        return names
    lists = read(os.path.dirname(file), "CMakeLists.txt")
    return {name for found in re.findall(r"foreach\(\w+ ([^)]*)\)", lists) for name in found.split()}


class FieldReports(unittest.TestCase):
    def test_every_named_test_exists(self):
        for report, tests in rows():
            for file, names in tests:
                text = read(file)
                if file.endswith(".cpp"):
                    self.assertLessEqual(set(re.findall(r'"([^"]+)"', names)), sentences(text), f"{report}: {file}")
                else:
                    self.assertLessEqual(set(names.split(", ")), cases(file, text), f"{report}: {file}")

    def test_all_reports_of_four_areas_are_there(self):
        wanted = "02 04 11 30 33 03 24 25 26 27 28 08 52 53 55 56 15 16 22 57 58 62 63 64 65"
        self.assertEqual([report for report, _ in rows()], [f"I{number}" for number in wanted.split()])


unittest.main()
