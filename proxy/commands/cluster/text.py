"""Texts of `jitc cluster`: what it has made, and the commands that come next.

Called by: command.py. Promise: a command that is printed can be copied to a shell, whatever characters a folder has;
words to be replaced are in capitals.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ...cluster.peers import der
from ...cluster.peers.identity import FILES
from ...status.cluster import Certificate, Cluster, Member, Store
from .certificates import EXPIRED, GOOD, SOON

PORT = 7431
AFTER_RENEWAL = "services that run take a new certificate within seconds; the old one holds until then"
#: Begins the text of a node that cannot be asked, without a certificate of one: that is no trouble of the node.
NOT_ASKED = "not asked: "
_WORDS = {SOON: "renew it soon", EXPIRED: "EXPIRED"}


def made_authority(folder: Path, made: der.Certificate) -> str:
    return (
        f"made the CA ({made.name}) in {folder}, until {der.day(made.ends)}\n"
        f"keep {folder / 'ca.key'} secret: it makes nodes of this cluster\n"
        f"next, for each node:\n  {_command('jitc', 'cluster', 'add', 'NODE', *_folder_words(folder))}"
    )


def made_node(node: str, place: Path) -> str:
    return (
        f"made the certificate of node {node} in {place}, until {_ends(place)}\n"
        f"bring it to the node, whose address is HOST:\n  {_copied(place)}\n"
        f"start the node's service there:\n"
        f"  jitc-proxyd --cluster etcd://STORE:2379 --node {node} --peer-address HOST:{PORT}"
    )


def renewed_node(node: str, place: Path) -> str:
    return (
        f"renewed the certificate of node {node}, until {_ends(place)}\n"
        f"bring it to the node, whose address is HOST:\n  {_copied(place)}"
    )


def cluster(found: Cluster) -> str:
    """Returns the table of `show`."""
    rows = [("", "until", "days left", ""), _row("CA", found.authority)]
    rows += [_row(f"node {one.name}", one) for one in found.nodes]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [f"{found.authority.name} in {found.folder}"]
    for name, ends, days, state in rows:
        lines.append(f"{name:<{widths[0]}}  {ends:<{widths[1]}}  {days:>{widths[2]}}  {state}".rstrip())
    if not found.nodes:
        lines.append("no nodes yet; `jitc cluster add NODE` makes one")
    return "\n".join([*lines, *(["", *_store(found.store)] if found.store is not None else [])])


def has_trouble(store: Store) -> bool:
    """Returns whether something of the store, or of a node in it, is not as it should be."""
    asked = [why for one in store.nodes for why in one.troubles if not why.startswith(NOT_ASKED)]
    return bool(store.trouble or any(one.trouble for one in store.members) or asked)


def _store(one: Store) -> list[str]:
    head = f"store {one.location}" if one.seconds is None else f"store {one.location}, a read takes {_ms(one.seconds)}"
    rows = [(each.address, each.version, _ms(each.seconds), _member(each)) for each in one.members]
    lines = [f"{head}: {one.trouble}" if one.trouble else head, *_columns(rows)]
    if one.seconds is None:
        return lines
    nodes = [
        (f"node {each.name}", each.peer_address, _ms(each.seconds), "; ".join(each.troubles)) for each in one.nodes
    ]
    return [*lines, *(_columns(nodes) or ["no service of a node runs"])]


def _member(one: Member) -> str:
    return ", ".join([*(["leads"] if one.leads else []), *([one.trouble] if one.trouble else [])])


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _columns(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """Returns the rows as lines whose columns stand below each other, all but the last one."""
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    return ["  ".join([*(f"{row[at]:<{widths[at]}}" for at in range(3)), row[3]]).rstrip() for row in rows]


def _row(name: str, one: Certificate) -> tuple[str, str, str, str]:
    ends = "" if one.ends is None else der.day(one.ends)
    days = "" if one.days_left is None else str(one.days_left)
    word = _WORDS.get(one.state, one.state if one.state != GOOD else "")
    return name, ends, days, f"{word}: {one.reason}" if one.reason else word


def _ends(place: Path) -> str:
    return der.day(der.from_pem((place / "node.pem").read_bytes()).ends)


def _copied(place: Path) -> str:
    """Returns the command that brings a node's files to the node, with their modes."""
    root = os.geteuid() == 0
    folder = "/etc/jitc/peer" if root else "${XDG_CONFIG_HOME:-$HOME/.config}/jitc/peer"
    there = f'mkdir -p -m 700 "{folder}" && tar -C "{folder}" -x'
    return f"{_command('tar', '-C', str(place), '-c', *FILES)} | ssh HOST {shlex.quote(there)}"


def _folder_words(folder: Path) -> tuple[str, ...]:
    from ...cluster.peers.names import authority_folder

    return () if folder == authority_folder() else ("--folder", str(folder))


def _command(*words: str) -> str:
    return shlex.join(words)
