# SPDX-License-Identifier: Apache-2.0
"""check_links finds dead links, folders of one machine, and notes to do later."""

import unittest

from wrong_tree import CheckCase


class CheckLinks(CheckCase):
    check = "check_links"

    def test_wrong_ones_are_found(self):
        self.rejects({"a.md": "see [it](b.md)\n"}, "a.md:1: link to b.md")
        self.rejects({"a.cpp": "// " + "TO" + "DO later\n"}, "a note to do later")
        self.rejects({"a.sh": "cd /ho" + "me/ann/muster\n"}, "names a folder of one machine")
        self.rejects({"a.py": "open('/ro" + "ot/x')\n"}, "names a folder of one machine")

    def test_right_ones_pass(self):
        self.accepts({"a.md": "see [it](b/c.md#part), [there](https://example.org), `[x](no.md)`\n", "b/c.md": "x\n",
                      "a.sh": "ls $dir/wo" + "rk/x\n"})


unittest.main()
