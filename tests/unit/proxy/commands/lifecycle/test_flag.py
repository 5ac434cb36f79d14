"""A flag of a signal's handler: also one that interrupts the wait for it where a lock would be held ends that wait."""

from __future__ import annotations

import subprocess
import sys

from toolkit.waiting import patient

#: Each flag is set at some moment of many short waits. threading.Event in its place is stuck after some hundreds.
PROGRAM = """
import random, signal
from jitc.proxy.commands.lifecycle.flag import Flag

def one() -> None:
    flag = Flag()
    signal.signal(signal.SIGALRM, lambda *_: flag.set())
    signal.setitimer(signal.ITIMER_REAL, 0.00002 + random.random() / 2000)
    while not flag.wait(0.00001):
        pass
    assert flag.is_set()

random.seed(1)
for _ in range(500):
    one()
"""


def test_a_handler_ends_the_wait_that_it_interrupts() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], timeout=patient(60), check=True)
