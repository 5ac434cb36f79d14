"""A child made by fork never touches the parent's connection, and the parent never notices it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# Runs in a process of its own, since grpcio's server of this process would not like a fork.
PROGRAM = """
import os, signal, sys, threading
sys.path[:0] = [{tests!r}, {here!r}]
from transport_binding import Stream, unary
echo = Stream({path!r})
echo.send(b"before"); echo.wait_for(1)
stop = threading.Event()
def traffic():
    while not stop.is_set():
        echo.send(b"t" * 5000)
busy = threading.Thread(target=traffic, daemon=True)
if {busy}:
    busy.start()
pid = os.fork()
if pid == 0:
    {child}
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
if {busy}:
    busy.join()
count = len(echo.received)
marker = b"after" * 7
echo.send(marker)
assert echo.wait(lambda: marker in echo.received) == 1
assert echo.ended is None
echo.close()
print("good")
"""
CHILDREN = {
    "exit": "pass",
    "sys_exit": "sys.exit(0)",
    "exec": 'os.execv("/bin/true", ["true"])',
    "new_stream": "s = Stream({path!r}); s.send(b'c'); s.wait_for(1); s.close()",
    "unary": "assert unary({path!r}, '/test.Test/Unary', b'c') == (0, b'c')",
    "leftover": "import gc; del echo; gc.collect()",
    "grandchild": "p = os.fork(); os._exit(0) if p == 0 else os.waitpid(p, 0)",
}


def run(program: str) -> str:
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("child", CHILDREN)
def test_parent_goes_on(process: Any, child: str, busy: bool) -> None:
    body = textwrap.dedent(CHILDREN[child]).replace("{path!r}", repr(process.path))
    program = PROGRAM.format(tests=str(HERE.parents[2]), here=str(HERE), path=process.path, busy=busy, child=body)
    assert run(program) == "good\n"


def test_child_does_not_hold_the_connection(process: Any) -> None:
    """The sockets of the parent are gone in the child, so that a hang-up of the parent is one."""
    program = f"""
import os, sys
sys.path[:0] = [{str(HERE.parents[2])!r}, {str(HERE)!r}]
from transport_binding import Stream
before = set(os.listdir("/proc/self/fd"))
echo = Stream({process.path!r})
echo.send(b"x"); echo.wait_for(1)
mine = set(os.listdir("/proc/self/fd")) - before
assert len(mine) == 3, mine
pid = os.fork()
if pid == 0:
    os._exit(len(mine & set(os.listdir("/proc/self/fd"))))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
echo.close()
print("good")
"""
    assert run(program) == "good\n"


def test_nothing_is_left_open(process: Any) -> None:
    program = f"""
import os, sys, threading
sys.path[:0] = [{str(HERE.parents[2])!r}, {str(HERE)!r}]
from transport_binding import Stream, unary
count = lambda: (len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
unary({process.path!r}, "/test.Test/Unary", b"")
Stream({process.path!r}).close()  # a sanitizer has a thread of its own from the first one that is made
before = count()
for _ in range(20):
    unary({process.path!r}, "/test.Test/Unary", b"x")
    echo = Stream({process.path!r})
    echo.send(b"x"); echo.wait_for(1)
    assert count() == (before[0] + 3, before[1] + 1)
    echo.close()
assert count() == before
print("good")
"""
    assert run(program) == "good\n"
    assert os.path.exists(process.path)
