"""Cases of the rule by which clients find a service: what is there, and whose socket is chosen.

Called by: the tests of both implementations, of programs (tests/unit/interpose/session/test_session_socket.py) and of
commands (tests/unit/proxy/test_socket_of_clients.py). Promise: each case has a folder of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OWN, SYSTEM, NAMED = "runtime/jitc/proxyd.sock", "system/proxyd.sock", "named.sock"


@dataclass(frozen=True)
class Case:
    """Files and folders (with a / at the end) that are there, the variables that are set, and what is chosen."""

    what: str
    there: tuple[str, ...]
    chosen: str
    variables: tuple[str, ...] = ("XDG_RUNTIME_DIR",)

    def make(self, folder: Path) -> tuple[dict[str, str], str]:
        """Makes what is there. Returns the variables, of which empty ones count as unset, and the system's path."""
        for one in self.there:
            path = folder / one
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if one.endswith("/") else path.touch()
        values = {"JITC_SOCKET": folder / NAMED, "XDG_RUNTIME_DIR": folder / "runtime"}
        variables = {name: str(value) if name in self.variables else "" for name, value in values.items()}
        return variables, str(folder / SYSTEM)


CASES = (
    Case("none", (), OWN),
    Case("own", (OWN,), OWN),
    Case("system", (SYSTEM,), SYSTEM),
    Case("both", (OWN, SYSTEM), OWN),
    Case("own-folder", (f"{OWN}.d/",), OWN),
    Case("system-folder", (f"{SYSTEM}.d/",), SYSTEM),
    Case("own-folder-and-system", (f"{OWN}.d/", SYSTEM, f"{SYSTEM}.d/"), OWN),
    Case("own-and-system-folder", (OWN, f"{SYSTEM}.d/"), OWN),
    Case("both-folders", (f"{OWN}.d/", f"{SYSTEM}.d/"), OWN),
    Case("file-in-place-of-own-folder", (f"{OWN}.d", SYSTEM), SYSTEM),
    Case("file-in-place-of-system-folder", (f"{SYSTEM}.d",), OWN),
    Case("unset-none", (), SYSTEM, ()),
    Case("unset-own", (OWN,), SYSTEM, ()),
    Case("unset-system", (SYSTEM,), SYSTEM, ()),
    Case("named", (OWN, SYSTEM), NAMED, ("JITC_SOCKET", "XDG_RUNTIME_DIR")),
    Case("named-alone", (SYSTEM,), NAMED, ("JITC_SOCKET",)),
)
