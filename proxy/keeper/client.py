"""The service's end of the connection to its keeper, and its view of what belongs to one user.

Called by: the service (which finds or starts the keeper: launch.py), shared memory (keep, take, drop), the supervisor
(spawn, process, signal, reap), the Node service (watch). Thread-safe. Promises: what was kept when a call returned is
available to the next service; the keeper's end is reported once, and every call raises KeeperLost from then on; its
events (on_...) arrive on a thread that must not call the keeper; a view of another user's has that user's names alone.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

from . import protocol
from .admission import Admission
from .backup import Backup
from .line import KeeperLost, Line
from .owner import Owner, prefix_in, prefix_of

#: Time for a keeper that is about to end to be gone.
ENDING_SECONDS = 10.0


class Keeper:
    """Made by open_keeper, for the service's own user; of() makes views of others."""

    def __init__(self, line: Line, welcome: dict[str, Any], backup: Backup, owner: Owner | None = None) -> None:
        """welcome: the keeper's answer to a service that it accepts. backup: of all that it holds. owner: None: the
        service's user."""
        self._line, self._welcome, self.backup, self.owner = line, welcome, backup, owner
        self._prefix = prefix_of(owner)
        self._output = 2 if has_errors() else os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.process: subprocess.Popen[bytes] | None = None  # where this service has started it
        self.pid = int(welcome["pid"])
        #: Whether the keeper is in another container: its workers end with that one.
        self.foreign = welcome["namespace"] != protocol.namespace()
        #: Whether it holds what one before it has held, and knows none of the programs.
        self.restored: bool = welcome.get("restored", False)
        self.kept: list[str] = self._own(welcome["kept"])
        self.children = [int(pid) for pid, prefix in welcome["children"].items() if prefix == self._prefix]

    @classmethod
    def connected(cls, connection: socket.socket, welcome: dict[str, Any], backup: Backup) -> Keeper:
        """Returns the service's view of a keeper that has accepted it."""
        line = Line(connection)
        keeper = cls(line, welcome, backup)
        line.start()
        return keeper

    def of(self, owner: Owner) -> Keeper:
        """Returns the view of another user."""
        return Keeper(self._line, self._welcome, self.backup, owner)

    def others(self) -> list[str]:
        """Returns the prefixes of the users, other than this one, whose memory it had for this service's beginning."""
        return sorted({prefix_in(name) for name in self._welcome["kept"]} - {""})

    @property
    def uid(self) -> int:
        """Returns the number of the user whose view this is."""
        return self.owner.uid if self.owner is not None else os.geteuid()

    @property
    def lost(self) -> bool:
        return self._line.lost

    def when_lost(self, act: Callable[[], None]) -> None:
        """act: the keeper has ended; that may have been before this call."""
        self._line.on_lost = act
        if self._line.lost:
            act()

    def when_handing_over(self, act: Callable[[], None]) -> None:
        """act: another service wants to replace this one; that may have been before this call."""
        self._line.on_hand_over = act
        if self._line.handing_over:
            act()

    def when_ended(self, act: Callable[[str], None]) -> None:
        """act: takes the ticket of a training process that was watched, and has ended."""
        self._line.on_ended.append(act)

    def keep(self, name: str, descriptor: int, token: str = "") -> None:
        """Makes the keeper hold the descriptor too, replacing another one of that name. Raises OSError.

        token: with it a training process may have the descriptor; empty: none may."""
        if self.owner is not None:
            os.fchmod(descriptor, 0o600)
            os.fchown(descriptor, self.owner.uid, self.owner.gid)
        self._keep(self._prefix + name, descriptor, token)

    def restore(self, kept: dict[str, int]) -> None:
        """Gives a new keeper what the one before it has held, of all users: descriptors, which stay the caller's, by
        name. Raises OSError."""
        for name, descriptor in kept.items():
            self._keep(name, descriptor, "")  # a program has had its memory, or begins anew
        self._welcome |= {"kept": sorted(kept), "restored": True}
        self.kept, self.restored = self._own(self._welcome["kept"]), True

    def take(self, names: list[str]) -> dict[str, int]:
        """Returns descriptors of what the keeper has of these names; the caller closes them. Raises OSError."""
        taken: dict[str, int] = {}
        for some in (names[at : at + protocol.DESCRIPTORS] for at in range(0, len(names), protocol.DESCRIPTORS)):
            answer, descriptors = self._line.ask({"do": "take", "names": some, "prefix": self._prefix})
            taken |= zip(answer["taken"], descriptors, strict=True)
        for name, descriptor in taken.items():
            self.backup.note(self._prefix + name, descriptor)
        return taken

    def drop(self, names: Iterable[str]) -> None:
        dropped = [self._prefix + one for one in names]
        self.backup.forget(dropped)
        self._line.call({"do": "drop", "names": dropped})

    def admit(self, people: Admission | None) -> None:
        """Lets training processes of these users connect to the keeper, too; None: of no other users."""
        self._line.call({"do": "admit", "people": people.record() if people is not None else None})

    @property
    def room(self) -> int:
        """Returns the most bytes of a request; this limits a worker's environment."""
        return protocol.room(self._line.connection)

    def spawn(self, command: list[str], environment: dict[str, str], ready: int) -> int:
        """Starts a worker process of this user's; its output goes where this process's errors go. Raises OSError."""
        owner = self.owner.record() if self.owner is not None else None
        request = {"do": "spawn", "command": command, "environment": environment, "owner": owner}
        return int(self._line.call(request, [ready, self._output])["pid"])

    def process_of(self, pid: int) -> int:
        """Returns a descriptor that becomes readable when the worker has ended; the caller closes it. Raises OSError
        if the keeper does not know the worker."""
        _, (descriptor,) = self._line.ask({"do": "process", "pid": pid})
        return descriptor

    def signal(self, descriptor: int, pid: int, number: int) -> None:
        """Sends a signal to the worker with this number; descriptor: of its process."""
        self._line.call({"do": "signal", "pid": pid, "signal": int(number)}, [descriptor])

    def reap(self, pid: int) -> int | None:
        """Forgets a worker that has ended. Returns its exit status, negative for a signal; None if the keeper does not
        know it."""
        status: int | None = self._line.call({"do": "reap", "pid": pid}).get("status")
        return status

    def watch(self, program: str) -> int | None:
        """Makes the keeper report when this user's training process of this ticket ends; a keeper without a service
        waits for it.

        Returns its process, 0 if that cannot be seen from here; None: it has ended, or there never was one."""
        answer = self._line.call({"do": "watch", "program": program, "prefix": self._prefix})
        return int(answer["pid"]) if answer["there"] else None

    def serving(self, settled: bool) -> None:
        """Reports that this service serves its sessions; settled: and all the rest, so that the service which it
        replaces, and which stands by until then, may go."""
        self._line.call({"do": "serving", "settled": settled})

    def end(self, leaves_folder: bool = False) -> None:
        """Ends all workers and the keeper. Returns when they have ended. leaves_folder: the keeper does not remove the
        socket and its folder, so that programs which begin now wait for the service."""
        try:
            self._line.closing()
            self._line.call({"do": "end", "leaves_folder": leaves_folder})
        except KeeperLost:
            return
        self._line.close(ENDING_SECONDS)
        if self.process is not None:
            self.process.wait(ENDING_SECONDS)

    def leave(self) -> None:
        """Disconnects, and leaves everything to the next service."""
        self._line.closing()
        with contextlib.suppress(OSError):  # the keeper has ended
            self._line.connection.shutdown(socket.SHUT_RDWR)
        self._line.close(ENDING_SECONDS)

    def handed_on(self) -> int:
        """Returns the descriptor of the connection, for the program that is about to replace this process's."""
        return self._line.connection.fileno()

    def _keep(self, name: str, descriptor: int, token: str) -> None:
        self._line.call({"do": "keep", "name": name, "token": token}, [descriptor])
        self.backup.note(name, descriptor)

    def _own(self, kept: list[str]) -> list[str]:
        return [one.removeprefix(self._prefix) for one in kept if prefix_in(one) == self._prefix]


def has_errors() -> bool:
    """Returns whether this process has a standard error."""
    try:
        os.fstat(2)
    except OSError:
        return False
    return True
