"""The locations of stores, as --cluster has them, and the options with which a store is reached.

Called by: the command line, opening.py, engines. Pure. Promises: what cannot be used is refused with one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...common.config import ClusterOptions

LOCAL = "local"
#: Members whose addresses a location may have.
MEMBERS_MOST = 16
_PORT = "2379"
_SCHEME = "etcd://"
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<name>[\w.-]+))(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Address:
    """Where a member is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Options:
    """The credentials of an engine: files in PEM, and a user of etcd's. Empty: not given."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    user: str = ""
    password: str = ""


def parse_location(text: str) -> tuple[Address, ...]:
    """Returns the addresses of the members; none: the location is this process. Raises ValueError."""
    if text == LOCAL:
        return ()
    if not text.startswith(_SCHEME):
        raise ValueError(f"{text!r} is no store: {LOCAL}, or {_SCHEME}HOST:PORT[,HOST:PORT...]")
    parts = text.removeprefix(_SCHEME).split(",")
    if len(parts) > MEMBERS_MOST:
        raise ValueError(f"a store has at most {MEMBERS_MOST} addresses, not {len(parts)}")
    found = tuple(_address(one, text) for one in parts)
    if len(set(found)) != len(found):
        raise ValueError(f"{text!r} names an address twice")
    return found


def store_options(node: ClusterOptions) -> Options:
    """Returns how a node shows to the store who it is."""
    password = node.password if node.user else ""
    return Options(node.ca, node.certificate, node.key, node.user, password)


def check_options(options: Options) -> None:
    """Raises ValueError for options that do not belong together."""
    if bool(options.certificate) != bool(options.key):
        raise ValueError("a certificate for the store needs its key, and a key its certificate")
    if options.password and not options.user:
        raise ValueError("a password for the store needs its user")
    if options.user and not options.password:
        raise ValueError(f"the store's user {options.user} needs a password")


def _address(text: str, whole: str) -> Address:
    found = _HOST.fullmatch(text)
    if not found or not 0 < int(found["port"] or _PORT) < 65536:
        raise ValueError(f"{text!r} in {whole!r} is no HOST:PORT (an IPv6 address is in brackets)")
    return Address(found["six"] or found["name"], int(found["port"] or _PORT))
