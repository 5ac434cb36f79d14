"""A session without faults: order, results, receivers, progress, what the service is told."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standin_node import BASE, Cut, Node, Record, completion
from toolkit.waiting import until

from jitc.proxy.common.paths import PROTOCOL_VERSION

Start = Callable[..., Any]


def test_gpus_are_the_service_s_and_asked_once(node: Node, client: Start) -> None:
    out, err = client("told(gpus()); gpus(); told(library().rt_session_count())").finish()
    first, sessions = out.splitlines()
    assert eval(first) == [
        ["0", "software", "fake", f"{0:032x}", str(1 << 34), "8", "6", "4", "0", "1=1024,16=132,33=0,131=-1,"],
        ["1", "software", "fake", f"{1:032x}", str(1 << 34), "8", "6", "4", "1", "1=1024,16=132,33=0,131=-1,"],
    ]
    assert sessions == "0" and node.described == 1 and not node.attached and err == ""


def test_ops_of_all_sizes_arrive_in_order(node: Node, client: Start) -> None:
    client("""
s = Session()
for n in range(3000):
    assert s.submit(bytes([n % 251]) * (n % 97)) == n + 1
for size in (65_000, 65_536, 262_144, 1 << 20, 3, (4 << 20) - 64, 0, 200_000, 200_000):
    s.submit(b"L" * size)
assert s.synchronize() == 0
assert s.last() == 3009 and s.last(99) == 0
""").finish()
    sizes = [n % 97 for n in range(3000)] + [65_000, 65_536, 262_144, 1 << 20, 3, (4 << 20) - 64, 0, 200_000, 200_000]
    assert [len(record.payload) for record in node.journal[:-1]] == sizes
    assert all(record.payload == bytes([n % 251]) * (n % 97) for n, record in enumerate(node.journal[:3000]))
    assert [record.sequence for record in node.journal] == list(range(1, 3011))


def test_what_waits_for_a_worker_comes_in_one_batch(node: Node, client: Start) -> None:
    """The worker is away while the client submits: nothing can be sent before all of it is there."""
    away, gate = threading.Event(), threading.Event()

    def cut(batch: list[Record]) -> None:
        if len(node.opened) == 1:
            raise Cut

    def opened(context: Any) -> None:
        if len(node.opened) == 2:
            away.set()
            assert gate.wait(60)

    node.script.on_batch, node.script.on_open = cut, opened
    running = client("""
s = Session()
s.submit(b"first")
go()
[s.submit(b"%d" % n) for n in range(3000)]
told("submitted")
go()
assert s.synchronize() == 0
""")
    assert away.wait(60)
    running.go()
    assert running.hear() == "submitted"
    gate.set()
    node.wait_journal(3001)
    assert node.batches == [3001]
    running.go()
    running.finish()
    assert [record.payload for record in node.journal[:3001]] == [b"first"] + [b"%d" % n for n in range(3000)]


def test_an_op_above_the_limit_is_refused(node: Node, client: Start) -> None:
    client("""
s = Session()
assert s.submit(bytes(4 << 20)) == 0 and "larger than the protocol allows" in last_message()
assert s.status == 0 and s.call(b"goes on!") == (0, b"goes on!")
""").finish()


def test_results_go_to_their_callers(node: Node, client: Start) -> None:
    """Many threads at once, each in its own stream: nobody gets another's result."""
    client("""
s = Session()
wrong = []
def work(stream):
    for n in range(100):
        mark = b"%08d%08d" % (stream, n)
        s.submit(mark, stream)
        if s.call(mark, stream) != (0, mark):
            wrong.append(mark)
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not wrong, wrong[:3]
""").finish()
    assert [record.sequence for record in node.journal] == list(range(1, 1601))
    for stream in range(1, 9):
        own = [record.payload[8:16] for record in node.journal if record.stream == stream]
        assert own == [b"%08d" % (n // 2) for n in range(200)], "program order within a thread"


def test_headers_say_stream_phase_and_wait(node: Node, client: Start) -> None:
    client("""
s = Session()
s.submit(b"a", 5); library().rt_set_phase(1); s.submit(b"b", 6); library().rt_set_phase(2); s.call(b"c", 7)
""").finish()
    assert [(record.stream, record.flags) for record in node.journal] == [(5, 0), (6, 1 << 1), (7, 2 << 1 | 1)]


def test_a_phase_source_is_asked_at_every_op(node: Node, client: Start) -> None:
    client("""
s = Session()
import ctypes
answers = [1, 2, 99]
source = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: answers.pop(0))
library().rt_set_phase_source(source)
for n in range(2): s.submit(b"a", 5)
s.call(b"b", 5)
library().rt_set_phase_source(ctypes.CFUNCTYPE(ctypes.c_int)())
s.call(b"c", 5)
""").finish()
    assert [record.flags for record in node.journal] == [1 << 1, 2 << 1, 2 << 1 | 1, 1]


def test_receiver_runs_before_progress_is_visible(node: Node, client: Start) -> None:
    client("""
s = Session()
seen = []
def heard(tag, status, payload):
    seen.append((tag, status, payload, s.executed(tag)))
for n in range(1, 201):
    assert s.receive(n, heard) == n
until(lambda: len(seen) == 200, 20, "all receivers ran")
for n, (tag, status, payload, visible) in enumerate(seen, 1):
    assert (tag, status, visible) == (n, 0, False), seen[n - 1]
    assert payload == b"d2h" + n.to_bytes(8, "little") * 2
until(lambda: s.executed(200), 20, "progress")
""").finish()


def test_progress_is_per_stream_and_a_synchronize_implies_it(node: Node, client: Start) -> None:
    """The fake sends no progress for the synchronize's own batch before its result."""
    client("""
s = Session()
a, b = s.submit(b"a", 1), s.submit(b"b", 2)
assert not s.executed(10, 3) and s.last(1) == a and s.last(2) == b
assert s.synchronize(1) == 0 and s.executed(a, 1)
until(lambda: s.executed(b, 2), 20, "progress of the other stream")
c = s.submit(b"c", 3)
assert s.device_synchronize() == 0 and s.executed(c, 3) and s.executed(c, 77)
""").finish()


def test_many_streams(node: Node, client: Start) -> None:
    client("""
s = Session()
last = {n: s.submit(b"x", n) for n in range(1, 3001)}
assert s.device_synchronize() == 0
assert all(s.last(n) == last[n] and s.executed(last[n], n) for n in last)
""").finish()


def test_polling_makes_progress_without_waiting(node: Node, client: Start) -> None:
    client("""
s = Session()
n = s.submit(b"x")
until(lambda: s.poll() or s.executed(n), 20, "progress by polling")
""").finish()


def test_notice_is_said_once(node: Node, client: Start) -> None:
    text = b"this job is not covered: because"
    node.script.extra = lambda batch: completion(5, payload=text)
    _, err = client('s = Session(); [s.call(b"x") for _ in range(5)]').finish()
    assert err == f"jitc: {text.decode()}\n"


def test_sessions_have_their_own_ranges(node: Node, client: Start) -> None:
    client(f"""
assert library().rt_owner({BASE}) is None
a, b = Session(0), Session(1)
assert (a.base, a.bytes, b.base) == ({BASE}, 1 << 38, {BASE} + (1 << 38))
assert Session(0).handle == a.handle
owner = library().rt_owner
assert owner(a.base) == a.handle and owner(b.base - 1) == a.handle and owner(b.base) == b.handle
assert owner(a.base - 1) is None and owner(b.base + b.bytes) is None
assert library().rt_session_count() == 2
""").finish()


def test_session_is_made_only_on_demand(node: Node, client: Start) -> None:
    client("""
try: Session(0, create=False)
except NoSession as none: assert none.args == (0,)
else: raise AssertionError
for gpu in (2, 63, 64, 2**31):
    try: Session(gpu)
    except NoSession as none: assert none.args == (101,), none
    else: raise AssertionError
""").finish()
    assert not node.attached


@pytest.mark.parametrize(
    ("environment", "rank", "world", "job"),
    [
        ({}, -1, 0, ""),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "h", "MASTER_PORT": "29500"},
            3, 8, "h:29500",
        ),
        ({"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "run7", "MASTER_ADDR": "h"}, 0, 2, "run7"),
        ({"TORCHELASTIC_RUN_ID": "r\u00fc\u6f22\U0001f600"}, -1, 0, "r\u00fc\u6f22\U0001f600"),
        ({"TORCHELASTIC_RUN_ID": "r\u00fc\udcff"}, -1, 0, r"r\xc3\xbc\xff"),  # no UTF-8, as what follows
        ({"TORCHELASTIC_RUN_ID": "\udcc3"}, -1, 0, r"\xc3"),
        ({"TORCHELASTIC_RUN_ID": "\udcc0\udc80"}, -1, 0, r"\xc0\x80"),
        ({"TORCHELASTIC_RUN_ID": "\udced\udca0\udc80"}, -1, 0, r"\xed\xa0\x80"),
        ({"TORCHELASTIC_RUN_ID": "\udcf4\udc90\udc80\udc80"}, -1, 0, r"\xf4\x90\x80\x80"),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, 1, 4, ""),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "RANK": "junk"}, 5, 6, ""),
    ],
)  # fmt: skip
def test_service_is_told_the_place_in_the_job(  # noqa: PLR0917
    node: Node, client: Start, environment: dict[str, str], rank: int, world: int, job: str
) -> None:
    running = client("Session(1)", **environment)
    running.finish()
    (request,) = node.attached
    assert (request.rank, request.world_size, request.job, request.gpu) == (rank, world, job, 1)
    assert (request.pid, request.protocol_version, request.token) == (running.process.pid, PROTOCOL_VERSION, "")


def test_results_are_confirmed(node: Node, client: Start) -> None:
    client('s = Session(); [s.call(b"x") for _ in range(20)]').finish()
    assert node.confirmed[-1] == 19 and len(node.only.owed) == 1


def test_back_pressure_blocks_and_loses_nothing(node: Node, client: Start) -> None:
    gate = threading.Event()

    def hold(batch: list[Record]) -> None:
        assert gate.wait(60)

    node.script.on_batch = hold
    running = client("""
import time
s = Session()
count = []
def work():
    for n in range(120):
        s.submit(b"x" * (1 << 20))
        count.append(n)
t = threading.Thread(target=work)
t.start()
until(lambda: len(count) >= 60, 20, "what the send queue holds")
t.join(1)
assert t.is_alive() and len(count) < 80, len(count)
told("blocked")
t.join()
assert s.synchronize() == 0
""")
    assert running.hear() == "blocked"
    gate.set()
    running.finish()
    assert len(node.journal) == 121


def test_a_program_that_begins_while_a_service_is_replaced_waits(node: Node, client: Start) -> None:
    """Its keeper answers, so that another service is expected."""
    node.stop_service()
    program = client("told(len(gpus())); told(Session() is not None)")
    until(lambda: node.keeper.connected > 1, 20, "it asks the keeper again")
    node.start_service()
    out, err = program.finish()
    assert out.splitlines() == ["2", "True"]
    assert err == "" or "does not answer; it is waited for" in err


def test_without_a_keeper_it_waits_for_a_service_that_begins(folder: Path, client: Start) -> None:
    node = Node(folder)
    node.keeper.stop()
    program = client("told('begins'); told(len(gpus()))")
    assert program.hear() == "begins"
    node.start_service()
    out, _ = program.finish()
    assert out == "2"
    node.stop()


def test_nobody_is_waited_for_without_end(node: Node, client: Start) -> None:
    node.stop_service()
    out, err = client("told(gpus())", JITC_SERVICE_TIMEOUT="1").finish()
    assert out == "[]" and "no node service on the socket" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_silent_listener_of_another_user_s_is_not_waited_for(folder: Path, client: Start) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "proxyd.sock"))
        os.chown(folder / "proxyd.sock", 65534, 65534)
        listener.listen(4)
        out, err = client("told(gpus())", JITC_SERVICE_TIMEOUT="600").finish()
    assert out == "[]" and "does not answer" in err and "waited for" not in err


def test_a_listener_that_stays_silent_is_not_waited_for_without_end(folder: Path, client: Start) -> None:
    """A service may begin there, or something else listens: no program can know which."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "proxyd.sock"))
        listener.listen(4)
        out, err = client("told(gpus())", JITC_SERVICE_TIMEOUT="1").finish()
    (line,) = err.splitlines()
    assert out == "[]" and line.endswith("does not answer; if it is stopped, continue it (kill -CONT)")


def test_a_child_of_a_program_that_is_asking_asks_for_itself(folder: Path, client: Start) -> None:
    """The thread that asks is not in it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "proxyd.sock"))
        listener.listen(4)
        running = client(
            """
asking = threading.Thread(target=gpus)
asking.start(); go()
pid = os.fork()
if pid == 0: os._exit(gpus() != [])
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
asking.join()
""",
            JITC_SERVICE_TIMEOUT="1",
        )
        connection, _ = listener.accept()
        running.go()
        running.finish()
        connection.close()
