# SPDX-License-Identifier: Apache-2.0
"""What the check_* scripts share: the files of the tree, C++ text without comments, and its statements.

A check is a program that prints `path:line: what is wrong and what to do` for each finding and
exits 1 if there was one. Each takes --root, so that its test can point it at a small wrong tree.
"""

import argparse
import os
import re
import subprocess
import sys

CPP = (".hpp", ".cpp", ".cu", ".cuh", ".c", ".h")


class Tree:
    """The tracked files, and the new ones that git does not ignore; all files where there is no git."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        if os.path.exists(os.path.join(self.root, ".git")):
            command = ["git", "-C", self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            names = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        else:
            names = [os.path.relpath(os.path.join(folder, name), self.root)
                     for folder, _, files in os.walk(self.root) for name in files
                     if not os.path.relpath(folder, self.root).startswith(("build", ".cache"))]
        self.files = sorted({n for n in names if n and os.path.isfile(os.path.join(self.root, n))})

    def named(self, *suffixes):
        return [name for name in self.files if name.endswith(suffixes)]

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def is_text(self, name):
        with open(os.path.join(self.root, name), "rb") as file:
            return b"\0" not in file.read(8192)


class Report:
    def __init__(self):
        self.findings = []

    def add(self, name, line, text):
        self.findings.append((name, line, text))

    def finish(self, checked):
        """Prints the findings; the exit status of the check."""
        for name, line, text in sorted(set(self.findings)):
            print(f"{name}:{line}: {text}")
        program = os.path.basename(sys.argv[0])
        found = len(set(self.findings))
        print(f"{program}: {checked}: " + (f"{found} findings" if found else "nothing wrong"))
        return 1 if found else 0


def arguments(doc, extra=()):
    parser = argparse.ArgumentParser(description=doc)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--root", default=here, help="the tree to look at (default: the one of this script)")
    for name, options in extra:
        parser.add_argument(name, **options)
    return parser.parse_args()


_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<delim>[^()\\\s]{0,16})\(.*?\)(?P=delim)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'",
    re.S)


def _blank(match):
    text = match.group(0)
    if text.startswith(("//", "/*")):
        return re.sub(r"[^\n]", " ", text)
    quote = '"' if text[-1] == '"' else "'"
    return quote + re.sub(r"[^\n]", "_", text[1:-1]) + quote


def without_comments(text):
    """C++ text of the same length and lines, with comments as blanks and the inside of literals as underscores."""
    return _TOKENS.sub(_blank, text)


def without_directives(text):
    """The same without preprocessor lines (and their continuations)."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.M)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Block:
    """A pair of braces: where it opens and closes, the text that introduces it, and what it holds."""

    def __init__(self, header_begin, opened):
        self.header_begin, self.opened, self.closed = header_begin, opened, None
        self.children = []
        self.in_parentheses = False

    def header(self, text):
        return text[self.header_begin:self.opened]


def blocks(text):
    """The nested brace pairs of comment-free, directive-free text, outermost first."""
    top, stack, parens, begin = [], [], [], 0
    for match in re.finditer(r"[{}();\[\]]", text):
        char, position = match.group(0), match.start()
        if char in "([":
            parens.append(len(stack))
        elif char in ")]":
            if parens:
                parens.pop()
        elif char == "{":
            block = Block(begin, position)
            block.in_parentheses = bool(parens) and parens[-1] == len(stack)
            (stack[-1].children if stack else top).append(block)
            stack.append(block)
            begin = position + 1
        elif char == "}":
            if stack:
                while parens and parens[-1] >= len(stack):
                    parens.pop()
                block = stack.pop()
                block.closed = position
                # `a_{x}, b_{y} {`: the braces of a constructor's initializers belong to the header of its body.
                initializer = re.match(r"\s*[,{]", text[position + 1:position + 200])
                begin = block.header_begin if initializer else position + 1
        elif not (parens and parens[-1] == len(stack)):
            begin = position + 1
    return top
