"""jitc-proxyd that kills itself, or its keeper, when it has written so many records to the registry's log, or is about
to.

    dying_proxyd.py [keeper] COUNT before|after ARGUMENT ...

All that another service goes by is in that log, so these are the places between which a death makes a difference.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from jitc.proxy.commands import proxyd
from jitc.proxy.keeper.log import Log

OF_KEEPER = sys.argv[1] == "keeper"
COUNT, WHEN, *WORDS = sys.argv[1 + OF_KEEPER :]
append, written = Log._append, 0


def die() -> None:
    if OF_KEEPER:  # the service's first child
        [keeper, *_] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return os.kill(int(keeper), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(128 + signal.SIGKILL)  # the first process of a namespace cannot be killed from inside it


def counted(log: Log, key: str, value: Any) -> None:
    global written
    written += 1
    if written == int(COUNT) and WHEN == "before":
        die()
    append(log, key, value)
    if written == int(COUNT) and WHEN == "after":
        die()


if __name__ == "__main__":
    Log._append = counted  # type: ignore[method-assign]
    sys.exit(proxyd.main(WORDS))
