"""Living in a foreign process: forks, signals, threads, its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_node import Node, Record

Start = Callable[..., Any]
TOKEN = f"{1:032x}"


def test_child_gets_an_error_and_the_parent_goes_on(node: Node, client: Start) -> None:
    client("""
s = Session()
assert s.call(b"before__")[0] == 0 and not library().rt_forked()
pid = os.fork()
if pid == 0:
    assert library().rt_forked()
    assert s.status == 3 and s.submit(b"x") == 0 and s.call(b"x") == (3, b"")
    s.poll()
    try: Session(1)
    except NoSession as none: assert none.args == (3,)
    else: raise AssertionError
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert s.call(b"after___") == (0, b"after___")
""").finish()
    assert node.detached == [TOKEN], "the child did not detach the parent's session"
    assert len(node.opened) == 1


def test_fork_before_the_first_session_is_free(node: Node, client: Start) -> None:
    client("""
gpus()
pid = os.fork()
s = Session()
assert not library().rt_forked() and s.call(b"x" * 8) == (0, b"x" * 8)
if pid: assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
""").finish()
    assert len(node.attached) == 2 and len(node.detached) == 2


def test_fork_while_threads_submit(node: Node, client: Start) -> None:
    client("""
s = Session()
stop = threading.Event()
def work():
    while not stop.is_set(): s.submit(b"x" * 100); s.call(b"y" * 8)
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        ok = s.submit(b"x") == 0 and s.status == 3
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set(); [t.join() for t in threads]
assert s.synchronize() == 0
""").finish()
    assert [record.sequence for record in node.journal] == list(range(1, len(node.journal) + 1))


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "s.submit(b'unfinished')"])
def test_exit_detaches(node: Node, client: Start, end: str) -> None:
    client("s = Session(); s.call(b'x'); t = Session(1); t.call(b'x')\n" + end).finish()
    assert sorted(node.detached) == [TOKEN, f"{2:032x}"]


def test_exit_without_a_session_tells_nobody(node: Node, client: Start) -> None:
    client("gpus()").finish()
    assert node.detached == []


def test_exit_does_not_hang_on_a_service_that_is_gone(node: Node, client: Start) -> None:
    running = client("s = Session(); s.call(b'x'); told('ready'); go()")
    assert running.hear() == "ready"
    node.stop()
    running.go()
    running.finish(20)


def test_exit_with_a_thread_that_waits(node: Node, client: Start) -> None:
    gate = threading.Event()

    def hold(batch: list[Record]) -> None:
        gate.wait(30)

    node.script.on_batch = hold
    running = client("""
s = Session()
t = threading.Thread(target=lambda: s.call(b"never___"), daemon=True); t.start()
until(lambda: s.last() > 0, 20, "the call is under way")
""")
    running.finish(20)
    gate.set()
    assert node.detached == [TOKEN]


def test_signals_are_the_program_s(node: Node, client: Start) -> None:
    """Every thread of ours has all signals blocked that can be."""
    client("""
s = Session(); s.call(b"x")
def names():  # a thread has its name once it has run
    return [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
until(lambda: any(name.startswith("jitc-") for name in names()), 20, "our thread's name")
ours = 0
for task in os.listdir("/proc/self/task"):
    text = open(f"/proc/self/task/{task}/status").read()
    fields = dict(line.split(":\\t", 1) for line in text.splitlines())
    if fields["Name"].startswith("jitc-"):
        ours += 1
        everything = (1 << 64) - 1 & ~(1 << 8 | 1 << 18) & ~(3 << 31)
        assert int(fields["SigBlk"], 16) & everything == everything, fields["SigBlk"]
assert ours == 1
""").finish()


@pytest.mark.skipif("JITC_TEST_PRELOAD" in os.environ, reason="the sanitizer has a thread of its own")
def test_no_thread_and_no_descriptor_before_the_first_call(node: Node, client: Start) -> None:
    client("""
library()
before = (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))
gpus()
assert before == (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))
Session().call(b"x")
assert (before[0] + 1, before[1] + 3) == (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))
""").finish()


@pytest.mark.skipif("JITC_TEST_PRELOAD" in os.environ, reason="the sanitizer has a thread of its own")
def test_missing_transport_is_named(folder: Path) -> None:
    """The session layer alone in a folder, without the transport beside it or on the loader's path."""
    from shutil import copy

    import session_binding as binding

    copy(binding.LIBRARIES / "libjitc_session_test.so", folder)
    program = f"""
import ctypes, os
library = ctypes.CDLL({str(folder / "libjitc_session_test.so")!r})
print(library.rt_gpus())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    # Its run path may still lead to the built transport: then the message is the other one.
    assert result.stdout == "0\n" and result.stderr.count("\n") <= 2 and result.stderr.startswith("jitc: ")
