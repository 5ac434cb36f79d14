"""Which cluster this machine is to be in, and how its store is reached: what a service that is started here would take.

Called by: command.py (`show`), ../doctor. Promises: values are texts as they were given, also wrong ones: who uses a
value checks it; a value of the command line counts before one of the environment, and that before one of the file.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...cluster.peers import names
from ...cluster.store.locations import LOCAL, Options
from ..settings.cluster import PASSWORD, machine_name
from ..settings.resolve import given
from ..settings.setting import CLUSTER_SETTINGS


@dataclass(frozen=True)
class Asked:
    """The settings of a cluster. Addresses that are not given are empty."""

    store: str
    node: str
    peer_address: str
    bridge_address: str
    certificates: Path
    options: Options


def words_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Returns the settings that the command line has, by name."""
    found = {one.name: getattr(arguments, one.attribute) for one in CLUSTER_SETTINGS}
    return {name: value for name, value in found.items() if value}


def asked(words: Mapping[str, str]) -> Asked | None:
    """Returns the settings; words: those of the command line. None: there is no cluster."""
    values = {one.name: words.get(one.name) or given(one) for one in CLUSTER_SETTINGS}
    if values["cluster"] in ("", LOCAL):
        return None
    user = values["cluster-user"]
    password = os.environ.get(PASSWORD, "") if user else ""
    options = Options(values["cluster-ca"], values["cluster-cert"], values["cluster-key"], user, password)
    peer = values["peer-address"]
    return Asked(
        values["cluster"], values["node"] or machine_name(), peer, values["bridge-address"] or _next_port(peer),
        Path(values["peer-certificates"] or names.peer_folder()), options,
    )  # fmt: skip


def _next_port(peer: str) -> str:
    """Returns where the bridge listens if nothing says it; empty: that follows from nothing."""
    try:
        place = names.address(peer)
    except ValueError:
        return ""
    return str(names.Address(place.host, place.port + 1)) if 0 < place.port < 0xFFFF else ""
