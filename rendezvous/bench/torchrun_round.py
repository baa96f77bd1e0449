# SPDX-License-Identifier: Apache-2.0
"""torchrun_round.py N SECONDS: N of torchrun's own rendezvous handlers, a thread each, meet at one TCPStore of this process.

Prints a line of JSON: seconds from the first connect until next_rendezvous() has returned for all of them, and how many held a rank;
seconds is null where they had not all returned in SECONDS. Each has its own connection, made by the function that torchrun uses. The threads
share one interpreter, which costs them time that separate processes on as many machines would not lose.
"""

import datetime
import json
import logging
import os
import sys
import threading
import time

from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler


class Meeting:
    def __init__(self, count, seconds):
        self.count, self.seconds = count, seconds
        self.server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=datetime.timedelta(seconds=seconds))
        self.begin = threading.Event()
        self.returned = threading.Condition()
        self.ranks, self.errors = [], []
        self.handlers = []  # kept: a handler that is collected stops its heartbeat

    def agent(self):
        self.begin.wait()
        try:
            parameters = RendezvousParameters(backend="c10d", endpoint=f"127.0.0.1:{self.server.port}", run_id="bench",
                                              min_nodes=self.count, max_nodes=self.count, local_addr="127.0.0.1", is_host="0",
                                              join_timeout=str(self.seconds), read_timeout=str(self.seconds))
            backend, store = create_backend(parameters)
            handler = create_handler(store, backend, parameters)
            self.handlers.append(handler)
            rank = handler.next_rendezvous().rank
        except Exception as error:  # whatever it was, the line below says it
            with self.returned:
                self.errors.append(repr(error))
                self.returned.notify()
            return
        with self.returned:
            self.ranks.append(rank)
            self.returned.notify()

    def run(self):
        """Seconds, or None."""
        for _ in range(self.count):
            threading.Thread(target=self.agent, daemon=True).start()
        start = time.monotonic()
        self.begin.set()
        with self.returned:
            self.returned.wait_for(lambda: len(self.ranks) == self.count or self.errors, self.seconds)
            taken = time.monotonic() - start
            if self.errors:
                raise SystemExit(f"torchrun_round: {self.errors[0]}")
            if len(self.ranks) < self.count:
                return None
            if sorted(self.ranks) != list(range(self.count)):
                raise SystemExit(f"torchrun_round: ranks {sorted(self.ranks)}")
            return taken


def main():
    if len(sys.argv) != 3:
        raise SystemExit("torchrun_round.py N SECONDS")
    logging.disable(logging.WARNING)
    meeting = Meeting(int(sys.argv[1]), int(sys.argv[2]))
    seconds = meeting.run()
    print(json.dumps({"nodes": meeting.count, "seconds": seconds, "holding": len(meeting.ranks)}), flush=True)
    os._exit(0)  # threads that still wait would be waited for


main()
