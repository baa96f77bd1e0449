# SPDX-License-Identifier: Apache-2.0
"""A small tree in a temporary folder, on which a check of scripts/ is run."""

import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class CheckCase(unittest.TestCase):
    check = ""  # the program in scripts/

    def run_on(self, files, *options):
        """Runs the check on a tree of {path: text}; (exit status, output)."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            command = [os.path.join(ROOT, "scripts", self.check), "--root", root, *options]
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.returncode, done.stdout

    def accepts(self, files, *options):
        status, output = self.run_on(files, *options)
        self.assertEqual(status, 0, output)

    def rejects(self, files, expected, *options):
        status, output = self.run_on(files, *options)
        self.assertEqual(status, 1, f"accepted, but should say: {expected}\n{output}")
        self.assertIn(expected, output)
