"""Runs the native build and shows how far it is: a bar on a terminal, else a line at each fifth.

    build.py LOG COMMAND...

Called by: setup.mk. Promises: all output of the command goes to LOG; of one that fails the last 60 lines are shown, and
its status is this one's; a build with nothing to do says nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

DONE = re.compile(r"\[(\d+)/(\d+)\]")
WIDTH, PARTS, LAST = 40, 5, 60
#: Fewer files than this are built before anybody looks.
FEW = 8


class Progress:
    def __init__(self) -> None:
        self._terminal, self._began, self._told = sys.stdout.isatty(), time.monotonic(), 0

    def show(self, done: int, whole: int) -> None:
        if whole < FEW:
            return
        if self._terminal:
            full = WIDTH * done // whole
            print(f"\r   [{'#' * full}{' ' * (WIDTH - full)}] {done}/{whole} ", end="", flush=True)
        elif done * PARTS // whole > self._told:
            self._told = done * PARTS // whole
            print(f"   {done} of {whole} files, {time.monotonic() - self._began:.0f} s", flush=True)

    def end(self) -> None:
        if self._terminal:
            print(f"\r{' ' * (WIDTH + 20)}\r", end="", flush=True)


def main() -> int:
    log, command = Path(sys.argv[1]), sys.argv[2:]
    progress, last = Progress(), deque[str](maxlen=LAST)
    with (
        log.open("w") as kept,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as run,
    ):
        assert run.stdout is not None
        for line in run.stdout:
            kept.write(line)
            last.append(line)
            if found := DONE.match(line):
                progress.show(int(found[1]), int(found[2]))
    progress.end()
    if run.returncode:
        sys.stderr.writelines(last)
    return run.returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)  # the compilers have had the signal as well
