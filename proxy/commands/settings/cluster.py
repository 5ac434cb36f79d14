"""The options that make a service a node of a cluster: added to the parser, checked together, as the configuration.

Called by: proxyd.py; setting.py has their settings. Promise: a service that could not be a node of the cluster does not
start, as far as its own options say that, and says which option is missing or wrong.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Mapping
from typing import Any

from ...cluster.peers.names import RULE, Address, address, is_name, peer_folder
from ...cluster.store.locations import check_options, store_options
from ...common.config import ClusterOptions
from ..options import USAGE, CommandError, shown
from .resolve import called
from .setting import CLUSTER_SETTINGS

#: The title of the options in the help.
TITLE = "several nodes"
#: Variable of the password for the store: on the command line everybody could read it.
PASSWORD = "JITC_CLUSTER_PASSWORD"
_HELP = {
    "cluster": ("STORE", "the store of the cluster of which this service is a node: etcd://HOST:PORT[,HOST:PORT...] "
                "(none: jobs of this machine alone)"),
    "node": ("NAME", "name of this node in the cluster (the machine's)"),
    "peer-address": ("HOST:PORT", "where the services of other nodes reach this one"),
    "bridge-address": ("HOST:PORT", "where their bridges reach this one's (the port after that of --peer-address)"),
    "peer-certificates": ("FOLDER", "this node's certificate, which jitc cluster add has made (/etc/jitc/peer or "
                          "$XDG_CONFIG_HOME/jitc/peer)"),
    "cluster-ca": ("FILE", "certificate of who has signed the store's; with it the store is reached by TLS (none)"),
    "cluster-cert": ("FILE", "certificate that is shown to the store (none)"),
    "cluster-key": ("FILE", "its key (none)"),
    "cluster-user": ("NAME", f"user of the store, with the password in {PASSWORD} (none)"),
}  # fmt: skip


def add_cluster_options(group: argparse._ArgumentGroup) -> None:
    for one in CLUSTER_SETTINGS:
        metavar, text = _HELP[one.name]
        group.add_argument(f"--{one.name}", type=one.parse, metavar=metavar, help=text)


def cluster_options(arguments: argparse.Namespace) -> ClusterOptions | None:
    """Returns the configuration; None: the service is in no cluster. Raises CommandError."""
    if not arguments.cluster:
        for one in CLUSTER_SETTINGS:
            if getattr(arguments, one.attribute):
                raise _wrong(arguments, one.name, "goes with --cluster, which says of which cluster")
        return None
    if arguments.users:
        raise _wrong(arguments, "cluster", "does not go with --users: a node of a cluster serves one user's programs")
    if not arguments.peer_address:
        raise _wrong(arguments, "cluster", "needs --peer-address, where the services of other nodes reach this one")
    node = arguments.node or machine_name()
    if not is_name(node):
        text = f"this machine's name, {shown(node)}, cannot be a node's ({RULE}); give one with --node"
        raise CommandError(text, USAGE)
    options = ClusterOptions(
        arguments.cluster, node, arguments.peer_address, arguments.bridge_address or _next_port(arguments),
        arguments.peer_certificates or str(peer_folder()), ca=arguments.cluster_ca, certificate=arguments.cluster_cert,
        key=arguments.cluster_key, user=arguments.cluster_user, password=os.environ.get(PASSWORD, ""),
    )  # fmt: skip
    try:
        check_options(store_options(options))
    except ValueError as error:
        more = f" ({PASSWORD})" if options.user and not options.password else ""
        raise CommandError(f"{error}{more}", USAGE) from None
    return options


def cluster_words(arguments: argparse.Namespace) -> list[str]:
    """Returns the options as words, for another program in this one's place."""
    values: Mapping[str, Any] = {one.name: getattr(arguments, one.attribute) for one in CLUSTER_SETTINGS}
    return [word for name, value in values.items() if value for word in (f"--{name}", str(value))]


def machine_name() -> str:
    return socket.gethostname()


def _next_port(arguments: argparse.Namespace) -> str:
    place = address(arguments.peer_address)
    if place.port >= 0xFFFF:
        raise _wrong(arguments, "peer-address", "leaves no port after its own: give --bridge-address, too")
    return str(Address(place.host, place.port + 1 if place.port else 0))


def _wrong(arguments: argparse.Namespace, name: str, why: str) -> CommandError:
    return CommandError(f"{called(arguments, name)} {why}", USAGE)
