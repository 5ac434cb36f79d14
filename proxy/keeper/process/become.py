"""The words before a command that is to run as another user.

Called by: children.py. Promise: the keeper waits for nothing that runs as the user: it has started a process of its
own, which becomes the user's before it becomes the command. Between the two the kernel shows it to nobody but root.
"""

from __future__ import annotations

import sys

from ..owner import Owner

_PROGRAM = """
import os, sys
uid, gid, groups = sys.argv[1:4]
os.setgroups([int(one) for one in groups.split(",") if one])
os.setresgid(int(gid), int(gid), int(gid))
os.setresuid(int(uid), int(uid), int(uid))
os.execvp(sys.argv[4], sys.argv[4:])
"""


def become(owner: Owner | None) -> list[str]:
    """Returns the words; none for the keeper's own user."""
    if owner is None:
        return []
    groups = ",".join(map(str, owner.groups))
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, str(owner.uid), str(owner.gid), groups]
