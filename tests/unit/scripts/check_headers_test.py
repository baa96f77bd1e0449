# SPDX-License-Identifier: Apache-2.0
"""check_headers finds a header that needs another one before it, and looks again when what it includes changes."""

import tempfile
import unittest

from wrong_tree import CheckCase


class CheckHeaders(CheckCase):
    check = "check_headers"

    def test_a_header_that_leans_on_others_is_found(self):
        self.rejects({"x/a.hpp": "#pragma once\nstd::string f();\n"}, "x/a.hpp:1: does not compile alone")
        self.accepts({"x/a.hpp": "#pragma once\n#include <string>\nstd::string f();\n"})

    def test_what_the_build_proves_is_left_to_it(self):
        leans = {"x/a.hpp": "#pragma once\nstd::string f();\n"}
        first = {**leans, "x/a.cpp": '#include "x/a.hpp"\n#include <string>\n'}
        later = {**leans, "x/a.cpp": '#include <string>\n#include "x/a.hpp"\n'}
        lists = {"x/CMakeLists.txt": "muster_library(x SOURCES a.cpp)\n"}
        self.accepts({**first, **lists})
        self.rejects(first, "x/a.hpp:1:")  # nothing builds a.cpp
        self.rejects({**later, **lists}, "x/a.hpp:1:")
        self.rejects({**first, "x/CMakeLists.txt": lists["x/CMakeLists.txt"] + "target_precompile_headers(x PRIVATE y.hpp)\n"}, "x/a.hpp:1:")

    def test_what_passed_is_looked_at_again_when_an_included_header_changes(self):
        with tempfile.TemporaryDirectory() as cache:
            outer = "#pragma once\n#include \"x/b.hpp\"\nT f();\n"
            good = {"x/a.hpp": outer, "x/b.hpp": "#pragma once\nusing T = int;\n"}
            self.accepts(good, "--cache", cache)
            self.assertIn("2 headers, 0 compiled", self.run_on(good, "--cache", cache)[1])
            self.rejects({"x/a.hpp": outer, "x/b.hpp": "#pragma once\nusing U = int;\n"}, "x/a.hpp:1:", "--cache", cache)


unittest.main()
