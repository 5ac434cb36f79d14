"""Living in a foreign process: forks, signals, threads, its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_keeper import FakeKeeper
from standin_node import Node, Record
from toolkit.waiting import until

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
assert (before[0] + 1, before[1] + 4) == (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))
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


def connected(node: Node) -> list[str]:
    return node.keeper.tickets()


def test_the_keeper_knows_the_process_as_long_as_it_lives(node: Node, client: Start) -> None:
    """A connection for each session, named in its Attach; it ends with the process, not with a child that goes on."""
    running = client("""
import signal
s, t = Session(), Session(1)
s.call(b"x"); t.call(b"x")
pid = os.fork()
if pid == 0:
    os.close(1); os.close(2)
    signal.pause()
told(pid); go()
os.kill(os.getpid(), 9)
""")
    child = int(running.hear())
    tickets = connected(node)
    assert sorted(tickets) == sorted(one.program for one in node.attached) and len(tickets) == 2
    try:
        running.go()
        running.process.wait(20)
        until(lambda: not connected(node), 20, "both connections have ended")
        os.kill(child, 0)  # it lives
    finally:
        os.kill(child, 9)


def test_a_child_has_no_connection_to_the_keeper(node: Node, client: Start) -> None:
    """And nothing that it opens is closed in its place."""
    client("""
s, t = Session(), Session(1)
s.call(b"x"); t.call(b"x")
def sockets():
    found = set()
    for one in os.listdir("/proc/self/fd"):
        try: name = os.readlink(f"/proc/self/fd/{one}")
        except FileNotFoundError: continue
        if name.startswith("socket:"): found.add(name)
    return found
assert len(sockets()) == 4  # to the workers too
pid = os.fork()
if pid == 0:
    if sockets(): os._exit(1)
    opened = [os.open("/", 0) for _ in range(8)]
    again = os.fork()
    if again == 0: [os.fstat(one) for one in opened]; os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(again, 0)[1]))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert s.call(b"after___") == (0, b"after___")
""").finish()


def test_a_keeper_that_is_gone_is_waited_for(node: Node, client: Start) -> None:
    """As the service is; then the message says what cannot be reached."""
    node.keeper.stop()
    out, err = client(
        """
try: Session()
except NoSession as none: print(none.args[0])
""",
        JITC_SERVICE_TIMEOUT="1",
    ).finish()
    assert out == "999" and "the keeper of the node service on the socket" in err and "refused" in err
    assert node.attached == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_keeper_that_is_closed_to_the_user_is_waited_for(node: Node, client: Start) -> None:
    """One that has just begun is: its service opens it to others when it knows its users."""
    running = client(
        """
s = Session()
assert s.call(b"first___") == (0, b"first___")
os.setresuid(65534, 65534, 65534)
told("ready"); go()
assert s.call(b"second__")[0] != 0
""",
        JITC_SERVICE_TIMEOUT="1",
    )
    assert running.hear() == "ready"
    node.keeper.stop()  # first: the program asks it as soon as the worker is gone
    node.stop_worker()
    node.start_worker()
    running.go()
    _, err = running.finish()
    assert "the keeper of the node service on the socket" in err and "Permission denied" in err
    assert "waited for in vain for 1 s" in err


def test_a_keeper_that_came_back_before_the_session_was_opened(node: Node, client: Start) -> None:
    """A keeper without a service ends when nobody was served: the next one has another ticket for the process."""
    first = node.keeper

    def another(request: Any, context: Any) -> None:
        if node.keeper is first:
            first.stop()
            (Path(node.socket + ".d") / "programs").unlink()
            Path(node.socket + ".d").rmdir()
            node.keeper = FakeKeeper(node.socket)
            context.abort(grpc.StatusCode.UNAVAILABLE, "the service has just ended")

    node.script.attach = another
    client("assert Session().call(b'x' * 8) == (0, b'x' * 8)").finish()
    first_request, second_request = node.attached
    assert first_request.program != second_request.program


def test_a_keeper_that_has_ended_with_all_workers(node: Node, client: Start) -> None:
    """Each session tells the next keeper of the process, and the service its new ticket; a cut alone renews nothing."""
    running = client("""
s, t = Session(), Session(1)
assert s.call(b"first___") == (0, b"first___") and t.call(b"x" * 8) == (0, b"x" * 8)
for _ in range(2):
    told("ready"); go()
    assert s.call(b"second__") == (0, b"second__") and t.call(b"y" * 8) == (0, b"y" * 8)
""")
    assert running.hear() == "ready"
    before = {one.token: one.program for one in node.attached}
    node.stop_worker()
    node.start_worker()
    running.go()
    assert running.hear() == "ready"
    assert {one.program for one in node.attached[2:]} == {one.program for one in node.attached[:2]}, before
    node.attached.clear()
    node.keeper.stop()  # before the worker: the program asks as soon as that is gone
    (Path(node.socket + ".d") / "programs").unlink()
    Path(node.socket + ".d").rmdir()
    node.keeper = FakeKeeper(node.socket)
    node.stop_worker()
    node.start_worker()
    running.go()
    running.finish()
    renewed = {one.token: one.program for one in node.attached}
    assert len(renewed) == 2 and "" not in renewed
    assert not set(renewed.values()) & set(before.values()) and len(set(renewed.values())) == 2
