"""The proxy server: node service, workers, journal, coordinator, recovery, back ends.

Called by: Python, before any module of it. Promise: gRPC, which reads its variable when it is loaded, prints errors
alone in processes of jitc unless the user wants more: what becomes of connections is for jitc's own messages to say.
"""

from __future__ import annotations

import os

#: Variables that are for processes of jitc alone.
_OWN = {name: value for name, value in {"GRPC_VERBOSITY": "ERROR"}.items() if name not in os.environ}
os.environ.update(_OWN)


def environment_of_programs() -> dict[str, str]:
    """Returns this process's variables without those that are for jitc alone: a user's program gets these."""
    return {name: value for name, value in os.environ.items() if name not in _OWN}
