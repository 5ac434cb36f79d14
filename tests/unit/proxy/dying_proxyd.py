"""jitc-proxyd that kills itself when it has written so many records to the registry's log, or when it is about to.

    dying_proxyd.py COUNT before|after ARGUMENT ...

All that another service goes by is in that log, so these are the places between which a death makes a difference.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from jitc.proxy.commands import proxyd
from jitc.proxy.keeper.log import Log

COUNT, WHEN = int(sys.argv[1]), sys.argv[2]
append, written = Log._append, 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(128 + signal.SIGKILL)  # the first process of a namespace cannot be killed from inside it


def counted(log: Log, key: str, value: Any) -> None:
    global written
    written += 1
    if written == COUNT and WHEN == "before":
        die()
    append(log, key, value)
    if written == COUNT:
        die()


if __name__ == "__main__":
    Log._append = counted  # type: ignore[method-assign]
    sys.exit(proxyd.main(sys.argv[3:]))
