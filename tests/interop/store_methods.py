#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own client against musterd: every method of TCPStore, PrefixStore, and process groups of eight ranks over it."""

import datetime
import multiprocessing
import os
import sys
import threading
import time

import torch
import torch.distributed as dist

from muster_case import Process, binary

SECONDS = datetime.timedelta(seconds=1)


def client(port, world_size=None, timeout=30):
    return dist.TCPStore("127.0.0.1", port, world_size, False, SECONDS * timeout)


def refuses(pattern, call):
    try:
        call()
    except Exception as error:  # the binding's own exception types differ between releases
        assert pattern in str(error), str(error)
        return
    raise AssertionError(f"expected an error with {pattern!r}")


def basic_methods(port):
    store = client(port)
    assert (store.host, store.port) == ("127.0.0.1", port)
    assert store.has_extended_api()
    store.set("k", "v")
    assert store.get("k") == b"v"
    assert store.add("n", 5) == 5 and store.add("n", -7) == -2
    assert store.compare_set("c", "", "a") == b"a"
    assert store.compare_set("c", "b", "x") == b"a"
    assert store.compare_set("c", "a", "b") == b"b"
    assert store.compare_set("missing", "expected", "x") == b"expected"
    assert store.check(["k", "n"]) and not store.check(["k", "zz"])
    store.append("k", "w")
    store.multi_set(["x", "y"], ["1", "2"])
    assert store.multi_get(["k", "x", "y"]) == [b"vw", b"1", b"2"]
    assert store.num_keys() == 5
    assert sorted(store.list_keys()) == ["c", "k", "n", "x", "y"]
    assert store.delete_key("x") and not store.delete_key("x")
    store.wait(["k", "y"])
    store.wait(["k"], SECONDS)
    big = "x" * (8 << 20)
    store.set("big", big)
    assert store.get("big") == big.encode()
    clone = store.clone()
    assert clone.get("k") == b"vw"


def queues_and_barriers(port):
    store = client(port)
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert store.queue_pop("q") == b"1" and store.queue_pop("q", block=False) == b"2"
    popped = []
    thread = threading.Thread(target=lambda: popped.append(client(port).queue_pop("q")))
    thread.start()
    store.queue_push("q", "3")
    thread.join()
    assert popped == [b"3"]
    arrived = [threading.Thread(target=lambda: client(port).barrier("gate", 4)) for _ in range(3)]
    for one in arrived:
        one.start()
    store.barrier("gate", 4)
    for one in arrived:
        one.join()
    refuses("", lambda: store.barrier("lonely", 2, SECONDS / 5))
    assert store.get("k") == b"vw", "the connection survives a barrier that timed out"


def waits_and_time_outs(port):
    store = client(port, timeout=1)
    begin = time.monotonic()
    refuses("never", lambda: store.wait(["k", "never"], SECONDS / 5))
    refuses("never", lambda: store.get("never"))
    assert time.monotonic() - begin < 10
    assert store.get("k") == b"vw", "the connection survives a wait that timed out"
    store.set_timeout(SECONDS * 30)
    assert store.timeout == SECONDS * 30
    got = []
    waiters = [threading.Thread(target=lambda: got.append(client(port).get("late"))) for _ in range(8)]
    for waiter in waiters:
        waiter.start()
    store.set("late", "value")
    for waiter in waiters:
        waiter.join()
    assert got == [b"value"] * 8


def prefixes(port):
    store = client(port)
    outer = dist.PrefixStore("outer", store)
    inner = dist.PrefixStore("inner", outer)
    inner.set("k", "deep")
    assert store.get("outer/inner/k") == b"deep" and outer.get("inner/k") == b"deep"
    assert inner.add("n", 2) == 2 and inner.check(["k"]) and inner.multi_get(["k"]) == [b"deep"]
    assert inner.compare_set("k", "deep", "deeper") == b"deeper"
    inner.append("k", "!")
    assert inner.get("k") == b"deeper!" and inner.delete_key("k")
    inner.multi_set(["a"], ["1"])
    inner.wait(["a"], SECONDS * 10)
    inner.queue_push("q", "1")
    assert inner.queue_len("q") == 1 and inner.queue_pop("q") == b"1"
    inner.barrier("b", 1)
    assert inner.underlying_store is not None


def clients_count_themselves(port):
    """With a world size each client adds to `init/`; nobody but the server's own process waits for it."""
    before = client(port).num_keys()
    one, two = client(port, 2), client(port, 2)
    assert one.num_keys() == before + 1
    assert "init/" not in two.list_keys()


def rank_of_eight(rank, port):
    store = client(port)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=8, timeout=SECONDS * 60)
    value = torch.full((1000,), float(rank))
    dist.all_reduce(value)
    assert value[0] == 28
    gathered = [None] * 8
    dist.all_gather_object(gathered, {"rank": rank})
    assert [each["rank"] for each in gathered] == list(range(8))
    dist.barrier()
    group = dist.new_group([0, 3, 7])
    if rank in (0, 3, 7):
        part = torch.ones(1)
        dist.all_reduce(part, group=group)
        assert part[0] == 3
    dist.barrier()
    dist.destroy_process_group()


def rank_by_environment(rank, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True")
    dist.init_process_group("gloo", timeout=SECONDS * 60)
    value = torch.ones(3)
    dist.all_reduce(value)
    assert value[0] == 2
    dist.destroy_process_group()


def ranks(target, count, port):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=target, args=(rank, port)) for rank in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0] * count, [process.exitcode for process in processes]


def main():
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as daemon:
        port = int(daemon.wait_for_output(r"listening on .*:(\d+)$").group(1))
        for test in (basic_methods, queues_and_barriers, waits_and_time_outs, prefixes, clients_count_themselves):
            print(test.__name__.replace("_", " "), flush=True)
            test(port)
        print("init_process_group with eight ranks", flush=True)
        ranks(rank_of_eight, 8, port)
    with Process([binary("musterd"), "--host", "127.0.0.1", "--port", "0"]) as daemon:
        port = int(daemon.wait_for_output(r"listening on .*:(\d+)$").group(1))
        print("init_process_group from the environment", flush=True)
        ranks(rank_by_environment, 2, port)
        assert len(daemon.output().splitlines()) == 1, daemon.output()


main()
sys.exit(0)
