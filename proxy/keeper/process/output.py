"""The output of another user's worker: read by the keeper, which prints it in lines of its own.

A worker of the service's own user has the service's standard error. To another user that would be a file of root's,
open for writing.

Called by: children.py. Promises: whatever a worker prints is printed as text, under its user's number; one that prints
much has lines left out, and slows nobody down but itself.
"""

from __future__ import annotations

import os
import selectors

from ...common.printable import printable
from ..guard import Lines, guarded

#: Bytes that are read at a time, and of one line.
READ, LINE = 4096, 1000


class Output:
    """The output of one worker."""

    def __init__(self, select: selectors.BaseSelector, uid: int) -> None:
        self._select, self._lines, self._begun, self._uid = select, Lines(), b"", uid
        self._read, self.write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.write, True)
        heard = guarded("a worker's output is not read", self._heard, self._end)
        try:
            select.register(self._read, selectors.EVENT_READ, heard)
        except BaseException:
            self._release()
            raise

    def begun(self) -> None:
        """The worker has its end of it; the end here would keep the output from ever ending."""
        write, self.write = self.write, -1
        if write >= 0:
            os.close(write)

    def close(self) -> None:
        """Reads no more: the worker has ended, and whoever has its end of the pipe by now is not it."""
        if self._read >= 0:
            self._heard()
        self._end()

    def _end(self) -> None:
        if self._read >= 0:
            self._select.unregister(self._read)
        self._release()

    def _release(self) -> None:
        ends, self._read, self.write = (self._read, self.write), -1, -1
        for one in ends:
            if one >= 0:
                os.close(one)

    def _heard(self) -> None:
        try:
            data = os.read(self._read, READ)
        except BlockingIOError:
            return
        *whole, self._begun = (self._begun + data).split(b"\n")
        if not data or len(self._begun) > LINE:
            whole, self._begun = [*whole, self._begun], b""
        for line in whole:
            if line.strip():
                text = printable(line.decode(errors="replace").rstrip(), LINE)
                self._lines.say(f"worker of user {self._uid}: {text}")
        if not data:
            self._end()
