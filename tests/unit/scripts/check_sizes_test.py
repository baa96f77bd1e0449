# SPDX-License-Identifier: Apache-2.0
"""check_sizes measures functions and files."""

import unittest

from wrong_tree import CheckCase

LONG = "  f();\n" * 70


class CheckSizes(CheckCase):
    check = "check_sizes"

    def test_long_functions_are_found_wherever_they_stand(self):
        for before, after, name in [
                ("void go(int x) {\n", "}\n", "go"),
                ("namespace a {\nclass C final : public B {\n public:\n  int go() const override {\n", "}\n};\n}\n", "go"),
                ("C::C(int x) : x_(x), y_{x} {\n", "}\n", "C::C"),
                ("TEST_CASE(\"a { sentence\", \"[x]\") {\n", "}\n", "TEST_CASE"),
                ("struct S { int a; };\nauto go(struct T t) -> int {\n", "}\n", "go")]:
            with self.subTest(before):
                self.rejects({"a.cpp": before + LONG + after}, f"{name}: 72 lines")

    def test_short_functions_in_a_long_class_pass(self):
        self.accepts({"a.hpp": "class C {\n" + "  int f() { return 1; }\n" * 100 + "};\n"})
        self.accepts({"a.cpp": "void go() {\n" + "  f();\n" * 68 + "}\n"})

    def test_a_long_file_is_found(self):
        self.rejects({"a.hpp": "int f();\n" * 601}, "601 lines")


unittest.main()
