# SPDX-License-Identifier: Apache-2.0
"""check_layers finds wrong includes, libraries in the wrong place and impure calls in cores."""

import unittest

from wrong_tree import CheckCase


class CheckLayers(CheckCase):
    check = "check_layers"

    def test_wrong_includes(self):
        for name, target, why in [
                ("launcher/main.cpp", "worker_runtime/core/tensor.hpp", "may not include"),
                ("worker_runtime/comm/session.cpp", "launcher/cli/options.hpp", "may not include"),
                ("rendezvous/store/engine.cpp", "rendezvous/net/server.hpp", "may not include"),
                ("rendezvous/base/error.cpp", "rendezvous/wire/message.hpp", "may not include"),
                ("worker_runtime/ddp/reducer.cpp", "worker_runtime/comm/tcp_group.hpp", "may not include"),
                ("rendezvous/net/server.cpp", "tests/support/fake.hpp", "may not include"),
                ("rendezvous/membership/host_step.cpp", "rendezvous/base/now.hpp", "a core may not include"),
                ("rendezvous/net/server.cpp", "server.hpp", "from the root of the tree"),
                ("elsewhere/a.cpp", "rendezvous/base/error.hpp", "no folder of scripts/check_layers")]:
            with self.subTest(target):
                self.rejects({name: f'#include "{target}"\n'}, why)

    def test_wrong_libraries(self):
        for name, target in [
                ("rendezvous/wire/decoder.cpp", "boost/asio/buffer.hpp"),
                ("rendezvous/net/server.hpp", "boost/asio.hpp"),
                ("rendezvous/net/status_page.hpp", "nlohmann/json.hpp"),
                ("launcher/agent/agent.cpp", "spdlog/spdlog.h"),
                ("launcher/main.cpp", "CLI/CLI.hpp"),
                ("worker_runtime/nn/linear.cpp", "dnnl.hpp")]:
            with self.subTest(target):
                self.rejects({name: f"#include <{target}>\n"}, name)
        self.rejects({"launcher/cli/a.cpp": "#include <CLI/CLI.hpp>\n", "launcher/cli/b.cpp": "#include <CLI/CLI.hpp>\n"}, "a second file")

    def test_impure_cores(self):
        for call in ["auto t = std::chrono::steady_clock::now();", "int r = rand();", "auto* p = std::getenv(\"X\");",
                     "std::this_thread::sleep_for(1s);", "std::thread t(f);", "std::ifstream in(p);", "auto t = muster::now();"]:
            for name in ["rendezvous/store/engine.cpp", "launcher/agent/agent_step.cpp", "worker_runtime/ddp/bucket_plan.cpp"]:
                with self.subTest(call=call, name=name):
                    self.rejects({name: "void f() { " + call + " }\n"}, f"{name}:1:")

    def test_shells_may_but_not_all(self):
        self.accepts({"launcher/agent/agent.cpp": "void f() { auto t = muster::now(); }\n"})
        self.rejects({"launcher/agent/agent.cpp": "void f() { auto* p = std::getenv(\"X\"); }\n"}, "env_view.cpp")
        self.rejects({"rendezvous/net/server.cpp": "void f() { co_spawn(ex, g(), asio::detached); }\n"}, "TaskGroup")

    def test_right_ones_pass(self):
        self.accepts({
            "rendezvous/net/asio.hpp": "#include <boost/asio/io_context.hpp>\n",
            "rendezvous/net/server.cpp": '#include "rendezvous/net/asio.hpp"\n#include "rendezvous/store/engine.hpp"\n',
            "rendezvous/store/engine.cpp": '#include "rendezvous/wire/message.hpp"\n// steady_clock::now() is for shells\nint now_ms = 0;\n',
            "launcher/agent/agent_step.hpp": '#include "rendezvous/base/clock.hpp"\nStep step(S& s, TimePoint now);\n',
            "tests/unit/net/server_test.cpp": '#include "rendezvous/net/server.hpp"\n#include <nlohmann/json.hpp>\n'})


unittest.main()
