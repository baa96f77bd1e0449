# SPDX-License-Identifier: Apache-2.0
"""check_tests finds what nothing runs."""

import unittest

from wrong_tree import CheckCase


class CheckTests(CheckCase):
    check = "check_tests"

    def test_an_unregistered_test_is_found(self):
        top = {"CMakeLists.txt": "add_subdirectory(tests)\n", "tests/CMakeLists.txt": "add_subdirectory(unit)\n", "tests/unit/CMakeLists.txt": "add_subdirectory(wire)\n"}
        self.rejects({**top, "tests/unit/wire/a_test.cpp": "", "tests/unit/wire/CMakeLists.txt": "muster_test(wire_test SOURCES b_a_test.cpp)\n"},
                     "a_test.cpp:1: is not registered")
        self.rejects({**top, "tests/unit/wire/a_test.cpp": "", "tests/unit/wire/CMakeLists.txt": "# muster_test(x SOURCES a_test.cpp)\n"},
                     "is not registered")
        self.accepts({**top, "tests/unit/wire/a_test.cpp": "", "tests/unit/wire/CMakeLists.txt": "muster_test(wire_test SOURCES a_test.cpp)\n"})

    def test_a_test_beside_the_code_is_found(self):
        self.rejects({"rendezvous/wire/a_test.cpp": ""}, "a test outside tests/")

    def test_a_folder_that_is_not_added_is_found(self):
        self.rejects({"tests/CMakeLists.txt": "", "tests/unit/CMakeLists.txt": ""}, "its folder is not added")

    def test_an_unused_script_is_found(self):
        lists = {"CMakeLists.txt": "add_subdirectory(tests)\n", "tests/CMakeLists.txt": "add_subdirectory(interop)\n", "tests/interop/CMakeLists.txt": "muster_script_test(a SCRIPT a_test.py)\n",
                 "tests/interop/a_test.py": "run('worker.py')\n"}
        self.accepts({**lists, "tests/interop/worker.py": ""})
        self.rejects({**lists, "tests/interop/worker.py": "", "tests/interop/dead.py": ""}, "dead.py:1: nothing")

    def test_an_empty_corpus_is_found(self):
        lists = {"CMakeLists.txt": "add_subdirectory(tests)\n", "tests/CMakeLists.txt": "add_subdirectory(fuzz)\n", "tests/fuzz/d.cpp": "",
                 "tests/fuzz/CMakeLists.txt": "muster_fuzz(d SOURCE d.cpp CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/corpus/d DEPS x)\n"}
        self.rejects(lists, "fuzz target d has no corpus")
        self.accepts({**lists, "tests/fuzz/corpus/d/one": "x"})
        self.rejects({**lists, "tests/fuzz/corpus/d/one": "x", "tests/fuzz/e.cpp": ""}, "e.cpp:1: is no muster_fuzz target")

    def test_a_thread_in_a_test_that_tsan_does_not_see_is_found(self):
        top = {"CMakeLists.txt": "add_subdirectory(tests)\n", "tests/CMakeLists.txt": "add_subdirectory(unit)\n", "tests/unit/CMakeLists.txt": "add_subdirectory(wire)\n",
               "tests/unit/wire/a_test.cpp": "void f();\nstd::thread one(f);\n"}
        pure = "muster_test(wire_test SOURCES\n  a_test.cpp DEPS x PURE)\n"
        self.rejects({**top, "tests/unit/wire/CMakeLists.txt": pure}, "a_test.cpp:2: a thread or coroutine in wire_test, which is PURE")
        self.accepts({**top, "tests/unit/wire/CMakeLists.txt": pure.replace(" PURE", "")})
        self.accepts({**top, "tests/unit/wire/CMakeLists.txt": pure, "tests/unit/wire/a_test.cpp": "void f();\n"})


unittest.main()
