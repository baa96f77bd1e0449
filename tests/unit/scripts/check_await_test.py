# SPDX-License-Identifier: Apache-2.0
"""check_await finds the forms that GCC 12 miscompiles, and leaves the right ones alone."""

import unittest

from wrong_tree import CheckCase

WRONG = [
    "co_await f(Agg{1, 2});",
    "co_await f({.a = 1});",
    "auto const r = co_await f(std::move(x), {});",
    "co_await f([p]() { return p; });",
    "co_await (f(Agg{1}) && g(Agg{2}));",
    "asio::co_spawn(co_await this_coro::executor, f(Agg{1}), token);",
    "asio::co_spawn(co_await this_coro::executor, [p]() -> awaitable<void> { co_return; }, token);",
    "Agg a{co_await f()};",
    "co_return Agg{co_await f(), 1};",
    "if (co_await f(Agg{1})) { g(); }",
    "for (auto const& x : co_await f(Agg{1})) g(x);",
    "g(co_await f(x), [&](int i) { return i; });",
]
RIGHT = [
    "Agg a{1, 2}; co_await f(std::move(a));",
    "if (co_await f(x)) { g({1}); } else { h(); }",
    "while (!co_await f()) { g(); }",
    "for (auto const& x : co_await f()) { Agg a{x}; g(a); }",
    "auto [ec, n] = co_await f(buffer, token);",
    "auto const& [ec, n] = co_await f(buffer, token);",
    "auto const got = co_await f(items[0], names_[i]);",
    "co_return Agg{1, 2};",
    "auto task = [p]() -> awaitable<void> { co_await g(p); co_return; }; (void)task;",
    "group.spawn(ex, [](X x) -> awaitable<void> { co_await g(x); co_return; }, 3);",
    "switch (co_await f()) { case 1: { g({}); break; } default: break; }",
    "// co_await f(Agg{1});\n log(\"co_await f(Agg{1})\");",
    "try { co_await f(x); } catch (E const& e) { g({}); }",
]


class CheckAwait(CheckCase):
    check = "check_await"

    def test_wrong_forms_are_found(self):
        for form in WRONG:
            with self.subTest(form):
                self.rejects({"a.cpp": "awaitable<void> run() {\n  " + form + "\n}\n"}, "a.cpp:2: a statement with co_await")

    def test_right_forms_pass(self):
        for form in RIGHT:
            with self.subTest(form):
                self.accepts({"a.cpp": "namespace n {\nclass C : B {\n awaitable<void> run() {\n  " + form + "\n}\n int x_{0};\n};\n}\n"})


unittest.main()
