"""Names of nodes, addresses at which their services listen, and folders of certificates.

Called by: everything in this package, the service, `jitc cluster`. Promise: a name that is accepted here can be that of
a file, of a certificate and of a TLS connection, and an address is one of TCP, whatever else gRPC would take it for.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

#: Characters of a name: as many as one of DNS has between two dots.
NAME_MOST = 63
#: Behind a node's name in its certificate, so that the name is never one that a machine may have.
DOMAIN = ".jitc"
RULE = (
    f"letters, digits, dashes, underscores and single dots between them, at most {NAME_MOST}, no dash or dot at the "
    "beginning and no dot at the end"
)
_NAME = re.compile(r"\w[\w-]*(?:\.[\w-]+)*", re.ASCII)
_ADDRESS = re.compile(r"(?P<host>[\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_name(text: str) -> bool:
    """Returns whether a node may have the name."""
    return len(text) <= NAME_MOST and _NAME.fullmatch(text) is not None


def dns_name(node: str) -> str:
    """Returns the name by which a node's certificate is verified, wherever the node's address is."""
    return node + DOMAIN


def address(text: str) -> Address:
    """Parses HOST:PORT; a number of IPv6 stands in brackets. Raises ValueError."""
    found = _ADDRESS.fullmatch(text)
    if not found or int(found["port"]) > 0xFFFF:
        raise ValueError(f"{text[:100]!r} is no address like 10.0.0.1:7431 or [fd00::1]:7431")
    return Address(found["host"].strip("[]"), int(found["port"]))


def authority_folder() -> Path:
    """Returns where the CA of a cluster is, with the certificates that it has signed."""
    return _folder() / "cluster"


def peer_folder() -> Path:
    """Returns where a node has its own certificate."""
    return _folder() / "peer"


def _folder() -> Path:
    if os.geteuid() == 0:
        return Path("/etc/jitc")
    return Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")) / "jitc"
