# SPDX-License-Identifier: Apache-2.0
"""check_format finds what clang-format would write otherwise."""

import os
import unittest

from wrong_tree import ROOT, CheckCase


class CheckFormat(CheckCase):
    check = "check_format"

    def test_wrong_spacing_is_found(self):
        with open(os.path.join(ROOT, ".clang-format"), encoding="utf-8") as file:
            style = file.read()
        self.accepts({".clang-format": style, "a.cpp": "int f(int const& x);\n"})
        self.rejects({".clang-format": style, "a.cpp": "int  f(const int& x);\n"}, "run scripts/format")


unittest.main()
