"""Checks of this node of a cluster: its name, its certificate, its addresses, and the files for the store.

Called by: ../command.py; store.py and nodes.py, for what is asked. Promises: without a cluster in the settings there is
no check; nothing is sent to another machine but a name server; an address is tried for an instant, on a free port.
"""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from ....cluster.peers import names
from ...cluster import nodes as of_nodes
from ...cluster.asked import Asked, asked
from ...cluster.limited import Late, within
from ..check import Check, Context, Finding, bad, good, unknown

if TYPE_CHECKING:
    from ....cluster.peers.credentials import Credentials

#: Until a name server must have answered.
LOOKUP_SECONDS = 3.0
_RENEW = "renew it: services that run take another one from there by themselves"
_STATES = {"expired": "has expired", "early": "is not valid yet"}
_ADDRESS = "give the address of this machine in the network of the nodes"


def of(context: Context) -> Asked | None:
    """Returns what is asked of this node; None: it is in no cluster."""
    found: Asked | None = context.once(_asked)
    return found


def _asked(context: Context) -> Asked | None:
    return asked(context.cluster)


def node(context: Context) -> Finding | None:
    if (one := of(context)) is None:
        return None
    if not names.is_name(one.node):
        return bad(f"{one.node} cannot be the name of a node", f"give one with --node: {names.RULE}")
    return good(f"{one.node}, of the cluster whose store is {one.store}")


def certificate(context: Context) -> Finding | None:
    if (one := of(context)) is None:
        return None
    try:
        own = of_nodes.credentials(one)
    except of_nodes.NoCredentials as error:
        return bad(str(error), error.remedy)
    from ....cluster.peers import der
    from ....cluster.peers.identity import CERTIFICATE
    from ...cluster import certificates

    dated = certificates.read(one.certificates / CERTIFICATE, one.node, "")
    until = der.day(own.identity.ends)
    text = f"of node {one.node}, until {until} ({dated.days_left} days), with its key and CA in {one.certificates}"
    if dated.state != certificates.GOOD:
        return unknown(f"{text}: it expires soon", f"jitc cluster rotate {one.node}, and bring it here")
    return good(text)


def own_certificate(context: Context) -> Credentials | None:
    """Returns the certificate of this node; None: there is none, as the check of it says."""
    one = of(context)
    try:
        return None if one is None else of_nodes.credentials(one)
    except of_nodes.NoCredentials:
        return None


def peer_address(context: Context) -> Finding | None:
    if (one := of(context)) is None:
        return None
    if not one.peer_address:
        return bad("there is none, and a node needs one", "jitc-proxyd --peer-address HOST:7431, or JITC_PEER_ADDRESS")
    return of_address(one.peer_address, "--peer-address")


def bridge_address(context: Context) -> Finding | None:
    if (one := of(context)) is None or not one.peer_address:
        return None
    if not one.bridge_address:
        return bad(f"none follows from --peer-address {one.peer_address}", "give one with --bridge-address")
    if one.bridge_address == one.peer_address:
        return bad(f"{one.bridge_address} is that of the service", "give another port with --bridge-address")
    return of_address(one.bridge_address, "--bridge-address")


def of_address(text: str, option: str) -> Finding:
    """Looks whether this machine has the address, and whether others can reach it there."""
    try:
        place = names.address(text)
    except ValueError as error:
        return bad(str(error), f"give HOST:PORT with {option}")
    if not place.port:
        return bad(f"{place} has no port by which others could find it", f"give one from 1 to 65535 with {option}")
    try:
        number = within(LOOKUP_SECONDS, lambda: _number(place.host))
    except Late:
        return unknown(
            f"the name {place.host} was not looked up within {LOOKUP_SECONDS:g} s", f"{_ADDRESS} as a number"
        )
    except OSError as error:
        return bad(f"the name {place.host} is not known: {error.strerror}", f"{_ADDRESS} with {option}")
    called = str(place) if number == place.host else f"{place} ({number})"
    return _of_number(ipaddress.ip_address(number.partition("%")[0]), number, called, option)


def _of_number(
    where: ipaddress.IPv4Address | ipaddress.IPv6Address, number: str, called: str, option: str
) -> Finding:  # fmt: skip
    if where.is_unspecified:
        return bad(f"{called} is no address at which another node finds this one", f"{_ADDRESS} with {option}")
    try:
        with socket.socket(socket.AF_INET6 if where.version == 6 else socket.AF_INET) as tried:
            tried.bind((number, 0))
    except OSError as error:
        return bad(f"this machine does not have {called}: {error.strerror}", f"{_ADDRESS} with {option}")
    if where.is_loopback:
        return unknown(f"{called} is reached from this machine alone", f"{_ADDRESS} with {option}, unless all are here")
    return good(f"{called} is this machine's")


def _number(host: str) -> str:
    return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])


def store_files(context: Context) -> Finding | None:
    """Looks at the dates of certificates for the store; store.py sees whether they are accepted."""
    one = of(context)
    files = [] if one is None else [path for path in (one.options.ca, one.options.certificate) if path]
    if not files:
        return None
    try:
        from ...cluster import certificates
    except ImportError as error:
        return unknown(f"the dates of {', '.join(files)} were not read: {error}", of_nodes.PACKAGE)
    found = [certificates.read(Path(path), path, _RENEW) for path in files]
    wrong = [one for one in found if one.state in (*certificates.BAD, certificates.EARLY)]
    for shown in wrong:
        if shown.days_left is None:
            return bad(shown.reason, "check --cluster-ca, --cluster-cert and --cluster-key")
        return bad(f"{shown.path} {_STATES[shown.state]}", f"{_RENEW}; if it is valid, set the clock of this machine")
    soon = [one for one in found if one.state == certificates.SOON]
    text = "; ".join(f"{one.path}: {one.days_left} days left" for one in found)
    return unknown(text, _RENEW) if soon else good(text)


CHECKS = (
    Check("node", node), Check("certificate", certificate), Check("peer address", peer_address),
    Check("bridge address", bridge_address), Check("store's files", store_files),
)  # fmt: skip
